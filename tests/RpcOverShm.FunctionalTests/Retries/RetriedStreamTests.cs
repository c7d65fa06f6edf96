namespace RpcOverShm.FunctionalTests.Retries;

/// <summary>Request streams whose first attempts fail while requests are written, or that are cancelled.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class RetriedStreamTests() : RigFixture(RigKind.Shm)
{
    private const string Pushback = "grpc-retry-pushback-ms";

    private static readonly RigOptions s_retrying = new()
    {
        Retries = new RigRetries(3, StatusCode.Unavailable) { Backoff = TimeSpan.FromMilliseconds(1) },
    };

    private readonly TaskCompletionSource _failed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _attempts;
    private int _otherAttempts;

    [Test]
    public async Task Writes_AfterAnAttemptHasFailed_GoToTheNextOne()
    {
        const int Messages = 50;
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Duplex = async (requests, responses, _) =>
                {
                    if (Interlocked.Increment(ref _attempts) < 3)
                    {
                        // The client's writer waits for the retry and does not see this failure.
                        await requests.MoveNext(CancellationToken.None);
                        throw Unavailable();
                    }

                    while (await requests.MoveNext(CancellationToken.None))
                    {
                        await responses.WriteAsync(requests.Current);
                    }
                },
            },
            s_retrying);

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        for (int i = 0; i < Messages; i++)
        {
            await call.RequestStream.WriteAsync(Payloads.Of($"{i}")).Bounded();
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
            Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo($"{i}"));
        }

        await call.RequestStream.CompleteAsync().Bounded();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
        Assert.That(_attempts, Is.EqualTo(3));
    }

    [Test]
    public async Task Dispose_InAPause_EndsWhatIsPending_AndTheStatusIsThereAtOnce()
    {
        ShmRig rig = await StartPausingAsync();

        AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Task<bool> read = call.ResponseStream.MoveNext(CancellationToken.None);
        await InPauseAsync(rig);
        call.Dispose();
        Status status = call.GetStatus();

        Assert.That(status.Plain(), Is.EqualTo(new Status(StatusCode.Cancelled, "gRPC call disposed.")));
        Assert.That((await FailureOf(read)).Status.Plain(), Is.EqualTo(status.Plain()));
        Assert.That(
            async () => await call.RequestStream.WriteAsync(Payloads.Empty).Bounded(),
            Throws.InstanceOf<ObjectDisposedException>());
        Assert.That(() => call.RequestStream.CompleteAsync(), Throws.InstanceOf<ObjectDisposedException>());
        Assert.That(_attempts, Is.EqualTo(1));
    }

    [Test]
    public async Task Dispose_InAPause_EndsThePendingWriteAsItEndsTheCall([Values] bool isDuplex)
    {
        ShmRig rig = await StartPausingAsync();
        CallInvoker invoker = rig.Invoker;
        using IDisposable call = isDuplex
            ? invoker.AsyncDuplexStreamingCall(Script.DuplexMethod, null, default)
            : invoker.AsyncClientStreamingCall(Script.ClientStreamMethod, null, default);
        (IClientStreamWriter<Payload> requests, Func<Status> getStatus) = call switch
        {
            AsyncDuplexStreamingCall<Payload, Payload> duplex => (duplex.RequestStream, duplex.GetStatus),
            AsyncClientStreamingCall<Payload, Payload> clientStream =>
                (clientStream.RequestStream, (Func<Status>)clientStream.GetStatus),
            _ => throw new InvalidOperationException("There are two shapes with a stream of requests."),
        };
        await _failed.Task.Bounded();
        await Timeouts.Eventually(() => rig.OnlyConnection.IncomingCount == 0, "the attempt has ended at the server");

        // The client reads frames in order: after this response it has read the attempt's end.
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        Task write = requests.WriteAsync(Payloads.Empty);
        Assert.That(write.IsCompleted, Is.False);
        call.Dispose();

        RpcException failure = await FailureOf(write);
        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Cancelled, "gRPC call disposed.")));
        Assert.That(getStatus().Plain(), Is.EqualTo(failure.Status.Plain()));
        Assert.That(_attempts, Is.EqualTo(1));
    }

    [Test]
    public async Task Shutdown_OfTheChannelInAPause_EndsTheCallCancelled()
    {
        ShmRig rig = await StartPausingAsync();

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Task<bool> read = call.ResponseStream.MoveNext(CancellationToken.None);
        await InPauseAsync(rig);
        await rig.ShmChannel.ShutdownAsync().Bounded();

        Assert.That((await FailureOf(read)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(_attempts, Is.EqualTo(1));
    }

    // Empty ones too: each costs memory besides its bytes.
    [TestCase(900, 2)]
    [TestCase(0, 100)]
    public async Task Requests_ThatAreTooManyToKeep_AreSentOnce(int bytes, int count)
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ClientStream = async (requests, _) =>
                {
                    Interlocked.Increment(ref _attempts);
                    await requests.ToListAsync();
                    throw Unavailable();
                },
            },
            s_retrying with { MaxRetryBufferPerCall = 1000 });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        for (int i = 0; i < count; i++)
        {
            await call.RequestStream.WriteAsync(Payloads.OfSize(bytes)).Bounded();
        }

        await call.RequestStream.CompleteAsync().Bounded();

        Assert.That((await FailureOf(call.ResponseAsync)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(_attempts, Is.EqualTo(1));
    }

    [Test]
    public async Task Answer_ThatCannotBeTaken_IsFinal()
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (_, _) =>
                {
                    Interlocked.Increment(ref _attempts);
                    return Task.FromResult(Payloads.OfSize(5000));
                },
            },
            s_retrying with { Retries = new RigRetries(3, StatusCode.ResourceExhausted), ClientMaxReceive = 1000 });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(_attempts, Is.EqualTo(1));
    }

    [Test]
    public async Task Request_ThatCannotBeSent_IsNotTriedAgain()
    {
        ShmRig rig = await StartShmAsync(
            new Script(),
            s_retrying with
            {
                Retries = new RigRetries(3, StatusCode.ResourceExhausted) { Backoff = TimeSpan.FromHours(1) },
                ClientMaxSend = 1000,
            });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.OfSize(5000)));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(203).Single().Message, Does.EndWith(" is not retried after attempt 0: NotSent."));
    }

    private static RpcException Unavailable(Metadata? trailers = null) =>
        new(new Status(StatusCode.Unavailable, "not now"), trailers ?? []);

    /// <summary>Waits for the duplex call's back-off: another call, which failed later, has finished its own.</summary>
    private async Task InPauseAsync(ShmRig rig)
    {
        await _failed.Task.Bounded();
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        Assert.That(_otherAttempts, Is.EqualTo(2));
    }

    private Task<ShmRig> StartPausingAsync() => StartShmAsync(
        new Script
        {
            Unary = (request, _) => Interlocked.Increment(ref _otherAttempts) == 1
                ? throw Unavailable(new Metadata { { Pushback, "0" } })
                : Task.FromResult(request),
            Duplex = (_, _, _) => throw FailForAnHour(),
            ClientStream = (_, _) => throw FailForAnHour(),
        },
        s_retrying);

    private RpcException FailForAnHour()
    {
        Interlocked.Increment(ref _attempts);
        _failed.TrySetResult();
        return Unavailable(new Metadata { { Pushback, "3600000" } });
    }
}
