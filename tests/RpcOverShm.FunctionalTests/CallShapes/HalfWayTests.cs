using System.Buffers;
using RpcOverShm.Servers;

namespace RpcOverShm.FunctionalTests.CallShapes;

/// <summary>User code and events while a large message is half serialised and its first half already sent.</summary>
[Parallelizable]
internal sealed class HalfWayTests() : RigFixture(RigKind.Shm)
{
    private const int MethodThrew = 301;
    private const int Large = 700_000;

    [Test]
    public async Task Request_ThatCannotBeFinished_EndsItsCallOnBothSides([Values] bool isBlocking)
    {
        int handled = 0;
        ShmRig rig = await StartAsync(request =>
        {
            Interlocked.Increment(ref handled);
            return request;
        });
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        int known = 0;
        Method<byte[], byte[]> method = await MakeKnownAsync(invoker, _ =>
        {
            known += SpinWait.SpinUntil(() => rig.OnlyConnection.IncomingCount == 1, Timeouts.Wait) ? 1 : 0;
            throw new InvalidDataException("half-way");
        });

        for (int i = 0; i < 20; i++)
        {
            await Timeouts.Eventually(() => rig.OnlyConnection.IncomingCount == 0, "the server has forgotten the last");
            RpcException failed = await FailureOf(CallAsync(invoker, method, new byte[Large], isBlocking));
            Assert.That(failed.StatusCode, Is.EqualTo(StatusCode.Internal));
            Assert.That(failed.Status.DebugException, Is.InstanceOf<InvalidDataException>());
        }

        await Timeouts.Eventually(() => rig.OnlyConnection.IncomingCount == 0, "the server has forgotten the calls");
        Assert.That(handled, Is.EqualTo(1), "Half a request reaches no method.");
        Assert.That(known, Is.EqualTo(20), "The server knew of each.");
        await EchoAsync(invoker, Large);
    }

    [TestCase(Large - 50_000)]
    [TestCase(Large + 50_000)]
    public async Task Request_OfAnotherLengthThanAnnounced_EndsItsCallOnly(int announced)
    {
        ShmRig rig = await StartAsync(request => request);
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        Method<byte[], byte[]> lying = await MakeKnownAsync(invoker, _ => { }, announced);

        RpcException failed = await FailureOf(CallAsync(invoker, lying, new byte[Large], isBlocking: false));

        Assert.That(failed.StatusCode, Is.EqualTo(StatusCode.Internal));
        await EchoAsync(invoker, Large);
    }

    [Test]
    public async Task Request_WhoseSerializerCallsOnTheSameChannel_Passes([Values] bool isBlocking)
    {
        ShmRig rig = await StartAsync(request => request);
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        Method<byte[], byte[]> plain = MakeMethod(_ => { });
        int inner = 0;
        Method<byte[], byte[]> nesting = await MakeKnownAsync(
            invoker,
            _ => inner += invoker.BlockingUnaryCall(plain, null, default, new byte[Large]).Length);
        byte[] message = Pattern(Large);

        byte[] answer = await CallAsync(invoker, nesting, message, isBlocking).Bounded();

        SameBytes.Assert(answer, message);
        Assert.That(inner, Is.EqualTo(Large));
    }

    [Test]
    public async Task Request_ThatIsCancelledMeanwhile_EndsWithThat([Values] bool isBlocking)
    {
        ShmRig rig = await StartAsync(request => request);
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        using var source = new CancellationTokenSource();
        Method<byte[], byte[]> slow = await MakeKnownAsync(invoker, _ => source.Cancel());

        RpcException failed = await FailureOf(CallAsync(
            invoker, slow, new byte[Large], isBlocking, new CallOptions(cancellationToken: source.Token)));

        Assert.That(failed.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        await Timeouts.Eventually(() => rig.OnlyConnection.IncomingCount == 0, "the server has forgotten the call");
        await EchoAsync(invoker, Large);
    }

    // The method is counted as running when the call arrives, but its request never arrives in full.
    [Test]
    public async Task Request_ThatIsGivenUp_LeavesNoMethodThatWaits([Values] bool isDeadline, [Values] bool isBlocking)
    {
        ShmRig rig = await StartAsync(request => request);
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        using var source = new CancellationTokenSource();
        TimeSpan timeout = TimeSpan.FromSeconds(0.5);
        bool hasRun = false;
        bool isCountedOut = false;
        Method<byte[], byte[]> slow = await MakeKnownAsync(invoker, _ =>
        {
            hasRun = SpinWait.SpinUntil(() => Running(rig) == 1, isDeadline ? timeout : Timeouts.Wait);
            if (!isDeadline)
            {
                source.Cancel();
            }

            isCountedOut = SpinWait.SpinUntil(() => Running(rig) == 0, Timeouts.Wait);
        });
        await Timeouts.Eventually(() => Running(rig) == 0, "the first call's method is counted out");

        // On a busy machine the deadline may pass before the call reaches the server.
        for (; !hasRun; timeout *= 2)
        {
            CallOptions options = isDeadline
                ? new CallOptions(deadline: DateTime.UtcNow + timeout)
                : new CallOptions(cancellationToken: source.Token);
            RpcException failed = await FailureOf(CallAsync(invoker, slow, new byte[Large], isBlocking, options));
            Assert.That(
                failed.StatusCode, Is.EqualTo(isDeadline ? StatusCode.DeadlineExceeded : StatusCode.Cancelled));
            Assert.That(timeout, Is.LessThan(Timeouts.Wait));
        }

        Assert.That(isCountedOut);
        await EchoAsync(invoker, Large);
        await rig.ShutDownServerAsync().Bounded();
    }

    [Test]
    public async Task Request_WhoseServerDiesMeanwhile_IsUnavailable([Values] bool isBlocking)
    {
        ShmRig rig = await StartAsync(request => request);
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        ServerConnection served = null!;
        bool hasRun = false;
        Method<byte[], byte[]> slow = await MakeKnownAsync(invoker, _ =>
        {
            hasRun = SpinWait.SpinUntil(() => served.PendingOrRunning == 1, Timeouts.Wait);
            rig.KillServerAsync().Bounded().GetAwaiter().GetResult();
        });
        served = rig.Served.Single();
        await Timeouts.Eventually(() => served.PendingOrRunning == 0, "the first call's method is counted out");

        RpcException failed = await FailureOf(CallAsync(invoker, slow, new byte[Large], isBlocking));

        Assert.That(failed.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(hasRun, "The server had counted it.");
        await Timeouts.Eventually(() => served.PendingOrRunning == 0, "the method is counted out");
    }

    [Test]
    public async Task Response_ThatCannotBeFinished_EndsItsCallOnly()
    {
        bool isFailing = true;
        Method<byte[], byte[]> served = MakeMethod(_ =>
        {
            if (isFailing)
            {
                throw new InvalidDataException("half-way");
            }
        });
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, Service(served, request => request));
        rig.Log.Expect(MethodThrew);
        CallInvoker invoker = rig.Channel.CreateCallInvoker();

        RpcException awaited = await FailureOf(CallAsync(invoker, MakeMethod(_ => { }), new byte[Large], false));
        RpcException blocking = await FailureOf(CallAsync(invoker, MakeMethod(_ => { }), new byte[Large], true));
        isFailing = false;

        Assert.That((awaited.StatusCode, blocking.StatusCode), Is.EqualTo((StatusCode.Unknown, StatusCode.Unknown)));
        await EchoAsync(invoker, Large);
    }

    [Test]
    public async Task StreamedResponse_ThatCannotBeFinished_FailsTheWriteAndEndsTheCall()
    {
        int writes = 0;
        var caught = new TaskCompletionSource<(Exception Thrown, bool IsEnded)>();
        Method<byte[], byte[]> served = MakeMethod(
            _ =>
            {
                if (++writes == 2)
                {
                    throw new InvalidDataException("half-way");
                }
            },
            MethodType.ServerStreaming);
        ServerServiceDefinition service = ServerServiceDefinition.CreateBuilder().AddMethod(
            served,
            async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                try
                {
                    await responses.WriteAsync(request);
                }
                catch (Exception exception)
                {
                    caught.SetResult((exception, context.CancellationToken.IsCancellationRequested));
                }
            }).Build();
        ServerServiceDefinition echo = Service(MakeMethod(_ => { }), request => request);
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, service, echo);
        CallInvoker invoker = rig.Channel.CreateCallInvoker();

        using AsyncServerStreamingCall<byte[]> call = invoker.AsyncServerStreamingCall(
            MakeMethod(_ => { }, MethodType.ServerStreaming), null, default, Pattern(Large));
        Assert.That(await call.ResponseStream.MoveNext(default).Bounded());
        RpcException failed = await FailureOf(call.ResponseStream.MoveNext(default));

        Assert.That(failed.StatusCode, Is.EqualTo(StatusCode.Unknown));
        (Exception thrown, bool isEnded) = await caught.Task.Bounded();
        Assert.That(thrown, Is.InstanceOf<InvalidDataException>());
        Assert.That(isEnded);
        await EchoAsync(invoker, Large);
    }

    [Test]
    public async Task StreamedResponse_ThatIsHalfWrittenWhenItsMethodReturns_CostsTheCallAndNoMore()
    {
        using var hasReturned = new ManualResetEventSlim();
        var isHalfWay = new TaskCompletionSource();
        Task? write = null;
        Method<byte[], byte[]> served = MakeMethod(
            _ =>
            {
                isHalfWay.TrySetResult();
                hasReturned.Wait(Timeouts.Wait);
            },
            MethodType.ServerStreaming);
        ServerServiceDefinition service = ServerServiceDefinition.CreateBuilder().AddMethod(
            served,
            (byte[] request, IServerStreamWriter<byte[]> responses, ServerCallContext context) =>
            {
                // The write runs on another thread; the method does not await it.
                write = Task.Run(() => responses.WriteAsync(request));
                return isHalfWay.Task;
            }).Build();
        ServerServiceDefinition echo = Service(MakeMethod(_ => { }), request => request);
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, service, echo);
        CallInvoker invoker = rig.Channel.CreateCallInvoker();

        using AsyncServerStreamingCall<byte[]> call = invoker.AsyncServerStreamingCall(
            MakeMethod(_ => { }, MethodType.ServerStreaming), null, default, Pattern(Large));
        RpcException failed = await FailureOf(call.ResponseStream.MoveNext(default));
        hasReturned.Set();

        Assert.That(failed.StatusCode, Is.EqualTo(StatusCode.Unknown));
        Assert.That(failed.Status.Detail, Does.Contain("while a response was being written"));
        Assert.That(async () => await write!.Bounded(), Throws.InvalidOperationException);
        await EchoAsync(invoker, Large);
    }

    [Test]
    public async Task Arrays_ThatAreTakenWhole_AreEachTheirOwn()
    {
        var seen = new List<byte[]>();
        ShmRig rig = await StartAsync(request =>
        {
            seen.Add(request);
            return [.. request.Reverse()];
        });
        CallInvoker invoker = rig.Channel.CreateCallInvoker();
        Method<byte[], byte[]> method = MakeMethod(_ => { });
        byte[][] messages = [.. Enumerable.Range(0, 5).Select(i => Pattern(Large + (i * 1001)))];
        var answers = new List<byte[]>();

        foreach (byte[] message in messages)
        {
            answers.Add(await CallAsync(invoker, method, message, isBlocking: answers.Count % 2 == 0).Bounded());
        }

        Assert.That((seen.Count, answers.Count), Is.EqualTo((messages.Length, messages.Length)));
        for (int i = 0; i < messages.Length; i++)
        {
            SameBytes.Assert(seen[i], messages[i], "What was given away is not used again.");
            SameBytes.Assert(answers[i], [.. messages[i].Reverse()]);
        }
    }

    private static int Running(ShmRig rig) => rig.Served.Single().PendingOrRunning;

    private static byte[] Pattern(int length)
    {
        byte[] bytes = new byte[length];
        new BytePattern(5).Fill(bytes);
        return bytes;
    }

    private static async Task EchoAsync(CallInvoker invoker, int length)
    {
        byte[] message = Pattern(length);
        byte[] answer = await CallAsync(invoker, MakeMethod(_ => { }), message, isBlocking: false).Bounded();
        SameBytes.Assert(answer, message);
    }

    private static async Task<byte[]> CallAsync(
        CallInvoker invoker,
        Method<byte[], byte[]> method,
        byte[] message,
        bool isBlocking,
        CallOptions options = default) =>
        isBlocking
            ? await Timeouts.OnThread(() => invoker.BlockingUnaryCall(method, null, options, message))
            : await invoker.AsyncUnaryCall(method, null, options, message).ResponseAsync;

    /// <summary>
    /// Creates a method as <see cref="MakeMethod"/> does, but after a first call, which shows the channel that the
    /// method's requests are large and uses up the announced length.
    /// </summary>
    private static async Task<Method<byte[], byte[]>> MakeKnownAsync(
        CallInvoker invoker, Action<byte[]> halfWay, int? announced = null)
    {
        bool isKnown = false;
        Method<byte[], byte[]> method = MakeMethod(
            message =>
            {
                if (isKnown)
                {
                    halfWay(message);
                }
            },
            announced: announced);
        byte[] first = new byte[announced ?? Large];
        await CallAsync(invoker, method, first, isBlocking: false).Bounded();
        isKnown = true;
        return method;
    }

    /// <summary>Creates a method of arrays whose serialiser runs a delegate after it has written one half.</summary>
    private static Method<byte[], byte[]> MakeMethod(
        Action<byte[]> halfWay, MethodType type = MethodType.Unary, int? announced = null)
    {
        var marshaller = new Marshaller<byte[]>(
            (message, context) =>
            {
                context.SetPayloadLength(announced ?? message.Length);
                IBufferWriter<byte> writer = context.GetBufferWriter();
                writer.Write(message.AsSpan(0, message.Length / 2));
                halfWay(message);
                writer.Write(message.AsSpan(message.Length / 2));
                context.Complete();
            },
            context => context.PayloadAsNewBuffer());
        return new Method<byte[], byte[]>(type, "test.HalfWay", type.ToString(), marshaller, marshaller);
    }

    private static ServerServiceDefinition Service(Method<byte[], byte[]> method, Func<byte[], byte[]> handle) =>
        ServerServiceDefinition.CreateBuilder()
            .AddMethod(method, (request, _) => Task.FromResult(handle(request))).Build();

    private async Task<ShmRig> StartAsync(Func<byte[], byte[]> handle) =>
        await StartShmAsync(RigOptions.AnySize, Service(MakeMethod(_ => { }), handle));
}
