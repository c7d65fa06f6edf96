namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>Streaming calls that the server ended while the client was not reading: their end is final.</summary>
[EveryRig]
internal sealed class ArrivedEndTests(RigKind kind) : RigFixture(kind)
{
    private static readonly Status s_planned = new(StatusCode.Internal, "planned");

    private static readonly RigOptions s_throwingCancels = new() { ThrowsOperationCanceled = true };

    [Test]
    public async Task GetStatusAndGetTrailers_OfAnEndThatNobodyRead_AreTheServers([Values] bool isRetried)
    {
        RigRetries? retries = isRetried ? new RigRetries(MaxAttempts: 2, StatusCode.Internal) : null;
        CallRig rig = await StartConnectedAsync(Failing(), new RigOptions { Retries = retries });
        using AsyncServerStreamingCall<Payload> stream = rig.Client.ServerStream(Payloads.Empty);
        using AsyncDuplexStreamingCall<Payload, Payload> duplex = rig.Client.Duplex();

        await Timeouts.Eventually(() => HasEnded(stream.GetStatus));
        await Timeouts.Eventually(() => HasEnded(duplex.GetStatus));

        AssertPlanned(stream.GetStatus(), stream.GetTrailers());
        AssertPlanned(duplex.GetStatus(), duplex.GetTrailers());
    }

    [Test]
    public async Task Read_WithATokenThatFiredAfterTheEnd_FailsWithTheServersStatus(
        [Values] bool isReadToken, [Values] bool isRetried)
    {
        RigRetries? retries = isRetried ? new RigRetries(MaxAttempts: 2, StatusCode.Unavailable) : null;
        CallRig rig = await StartConnectedAsync(Failing(), s_throwingCancels with { Retries = retries });
        using var token = new CancellationTokenSource();
        var options = new CallOptions(cancellationToken: isReadToken ? default : token.Token);
        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty, options);
        await ArrivalAsync(rig, call.GetStatus);

        await token.CancelAsync();
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(token.Token));

        AssertPlanned(failure.Status, failure.Trailers);
        AssertPlanned(call.GetStatus(), call.GetTrailers());
    }

    [Test]
    public async Task Read_AfterADeadlineThatPassedAfterTheEnd_FailsWithTheServersStatus()
    {
        CallRig rig = await StartConnectedAsync(Failing());
        for (double seconds = 0.5; ; seconds *= 2)
        {
            var options = new CallOptions(deadline: DateTime.UtcNow.AddSeconds(seconds));
            using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex(options);
            await ArrivalAsync(rig, call.GetStatus);
            if (DateTime.UtcNow > options.Deadline)
            {
                continue; // The end may have arrived after the deadline.
            }

            // Another call with the same deadline shows that the timer has fired.
            RpcException late = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty, options));
            Assert.That(late.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
            RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

            AssertPlanned(failure.Status, failure.Trailers);
            return;
        }
    }

    [Test]
    public async Task GetStatus_OfACallDisposedAfterTheEnd_IsTheServers()
    {
        CallRig rig = await StartConnectedAsync(Failing());
        AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await ArrivalAsync(rig, call.GetStatus);

        call.Dispose();

        AssertPlanned(call.GetStatus(), call.GetTrailers());
    }

    [Test]
    public async Task WriteAndRead_SomeTimeAfterTheEnd_FailAlike()
    {
        CallRig rig = await StartConnectedAsync(Failing());
        using var token = new CancellationTokenSource();
        using AsyncDuplexStreamingCall<Payload, Payload> call =
            rig.Client.Duplex(new CallOptions(cancellationToken: token.Token));
        await ArrivalAsync(rig, call.GetStatus);

        RpcException written = await FailureOf(call.RequestStream.WriteAsync(Payloads.Empty));
        await token.CancelAsync();
        RpcException read = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        AssertPlanned(written.Status, written.Trailers);
        AssertPlanned(read.Status, read.Trailers);
    }

    // Without a pause between them, writer and reader must fail with the same status.
    [Test]
    [NotOn(RigKind.GrpcDotNet, "A write that races with the end of the stream is told Cancelled.")]
    public async Task WriteAndRead_OfACallThatTheServerEnded_FailAlike([Values] bool hasOneResponse)
    {
        const int Calls = 200;
        CallRig rig = await StartConnectedAsync(Failing());
        for (int i = 0; i < Calls; i++)
        {
            using var token = new CancellationTokenSource();
            var options = new CallOptions(cancellationToken: token.Token);
            using var clientStream = hasOneResponse ? rig.Client.ClientStream(options) : null;
            using var duplex = hasOneResponse ? null : rig.Client.Duplex(options);
            IClientStreamWriter<Payload> requests = clientStream?.RequestStream ?? duplex!.RequestStream;

            RpcException written = await CallFailure.OfWritesAsync(requests);
            await token.CancelAsync();
            RpcException read = await FailureOf(
                (Task?)clientStream?.ResponseAsync ?? duplex!.ResponseStream.MoveNext(CancellationToken.None));

            AssertPlanned(written.Status, written.Trailers);
            AssertPlanned(read.Status, read.Trailers);
        }
    }

    // As in Grpc.Core, a later cancellation does not change a call that succeeded.
    [Test]
    [NotOn(RigKind.GrpcDotNet, "It looks for an OK only when the end is read: both are told Cancelled.")]
    public async Task Read_OfACallThatEndedWellBeforeItsTokenFired_IsTheEnd()
    {
        CallRig rig = await StartConnectedAsync(new Script { Duplex = (_, _, _) => Task.CompletedTask });
        using var token = new CancellationTokenSource();
        using AsyncDuplexStreamingCall<Payload, Payload> call =
            rig.Client.Duplex(new CallOptions(cancellationToken: token.Token));

        RpcException written = await CallFailure.OfWritesAsync(call.RequestStream);
        await token.CancelAsync();

        Assert.That(written.StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task Read_WithATokenThatFiredBeforeTheMessagesWereRead_IsCancelled()
    {
        CallRig rig = await StartConnectedAsync(new Script
        {
            Unary = (request, _) => Task.FromResult(request),
            ServerStream = async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                throw Planned();
            },
        });
        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await call.ResponseHeadersAsync.Bounded();
        if (rig is ShmRig shm)
        {
            await ArrivalAsync(shm);
        }

        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(new CancellationToken(canceled: true)));

        // The other rigs may show the server's trailers with their own status, if those arrived meanwhile.
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(failure.Trailers, IsShm ? Is.Empty : Has.Count.LessThan(2));
    }

    [Test]
    public async Task Read_ThatWaitsForTheEnd_FailsWithItWhateverComesThen()
    {
        var released = new TaskCompletionSource();
        CallRig rig = await StartConnectedAsync(new Script
        {
            Duplex = async (_, _, _) =>
            {
                await released.Task;
                throw Planned();
            },
        });
        using var token = new CancellationTokenSource();
        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Task<bool> read = call.ResponseStream.MoveNext(token.Token);

        released.SetResult();
        RpcException failure = await FailureOf(read);
        await token.CancelAsync();

        AssertPlanned(failure.Status, failure.Trailers);
        AssertPlanned(call.GetStatus(), call.GetTrailers());
    }

    // The end arrives when no message is queued but the reader is still parsing one.
    [Test]
    [NotOn(RigKind.GrpcCore, "The end's arrival cannot be seen there while a message is being read.")]
    [NotOn(RigKind.GrpcDotNet, "The end's arrival cannot be seen there while a message is being read.")]
    public async Task Read_OfAMessageThatProvesUnreadableAfterTheEndArrived_Fails()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            ServerStream = static (request, responses, _) => responses.WriteAsync(request),
        });
        using var isReading = new ManualResetEventSlim();
        using var hasEnded = new ManualResetEventSlim();
        Method<Payload, Payload> method = Script.ServerStreamMethod.Parsing(_ =>
        {
            isReading.Set();
            hasEnded.Wait(Timeouts.Wait);
            throw new InvalidDataException("unreadable");
        });
        using AsyncServerStreamingCall<Payload> call =
            rig.Invoker.AsyncServerStreamingCall(method, null, default, Payloads.Of("m"));

        Task<bool> read = Timeouts.OnThread(
            () => call.ResponseStream.MoveNext(CancellationToken.None).GetAwaiter().GetResult());
        await Timeouts.Eventually(() => isReading.IsSet);
        await ArrivalAsync(rig);
        hasEnded.Set();
        RpcException failure = await FailureOf(read);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Internal));
    }

    // Calls that wait for the connection start in any order when it is there, and later responses would show nothing.
    private async Task<CallRig> StartConnectedAsync(Script script, RigOptions? options = null)
    {
        CallRig rig = await StartAsync(script, options);
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        return rig;
    }

    private static RpcException Planned() => new(s_planned, new Metadata { { "trailer", "too" } });

    private static Script Failing() => new()
    {
        Unary = async (request, context) =>
        {
            if (context.Deadline != DateTime.MaxValue)
            {
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            }

            return request;
        },
        ServerStream = (_, _, _) => throw Planned(),
        ClientStream = (_, _) => throw Planned(),
        Duplex = (_, _, _) => throw Planned(),
    };

    private static void AssertPlanned(Status status, Metadata trailers)
    {
        Assert.That(status.Plain(), Is.EqualTo(s_planned));
        Assert.That(trailers.GetValue("trailer"), Is.EqualTo("too"));
    }

    // On shared memory a later response of another call shows that the end has arrived; elsewhere the status does.
    private static Task ArrivalAsync(CallRig rig, Func<Status> status) =>
        rig is ShmRig shm ? ArrivalAsync(shm) : Timeouts.Eventually(() => HasEnded(status));

    private static async Task ArrivalAsync(ShmRig rig)
    {
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => rig.OnlyConnection.IncomingCount == 0);
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
    }

    private static bool HasEnded(Func<Status> status)
    {
        try
        {
            status();
            return true;
        }
        catch (InvalidOperationException)
        {
            return false;
        }
    }
}
