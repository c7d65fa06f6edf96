using Microsoft.Extensions.Logging;

namespace RpcOverShm.FunctionalTests.OneWay;

/// <summary>One-way calls: what their caller sees, and what becomes of a failure.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class OneWayTests : OneWayFixture
{
    [Test]
    public async Task Call_ReturnsBeforeItsMethodEnds_WithAnEmptyResponse([Values] bool isBlocking)
    {
        ShmRig rig = await StartOneWayAsync();
        ScriptClient client = OneWay(rig);

        Payload response = isBlocking
            ? await Timeouts.OnThread(() => client.Unary(Payloads.Of("hold"))).Bounded()
            : await client.UnaryAsync(Payloads.Of("hold")).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => Begun.Length == 1);
        int endedBefore = Ended;
        Release();

        await Timeouts.Eventually(() => Ended == 1);
        Assert.That(endedBefore, Is.Zero);
        Assert.That(response, Is.EqualTo(Payloads.Empty));
        Assert.That(Failures, Is.Empty);
    }

    [Test]
    public async Task Call_OfAnySize_OverASmallRing_ArrivesWhole([Values] bool isBlocking)
    {
        int[] sizes = [0, 1, 1000, 7_000, 16 << 10, 20_000, 100_000, 1 << 20, 3_000_001, 5];
        var right = new List<bool>();
        ShmRig rig = await StartOneWayAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    lock (right)
                    {
                        right.Add(sizes.Any(size => request.IsOfSize(size)));
                    }

                    return Task.FromResult(request);
                },
            },
            options: RigOptions.AnySize with { RingCapacity = 64 << 10 });
        ScriptClient client = OneWay(rig);

        for (int round = 0; round < 5; round++)
        {
            foreach (int size in sizes)
            {
                Payload request = Payloads.OfSize(size);
                Task call = isBlocking
                    ? Timeouts.OnThread(() => client.Unary(request))
                    : client.UnaryAsync(request).ResponseAsync;
                await call.Bounded();
            }
        }

        await Timeouts.Eventually(() => right.Count == 5 * sizes.Length);
        Assert.That(right, Is.All.True);
        Assert.That(rig.Served.Single().Connection.IncomingCount, Is.Zero);
    }

    [Test]
    public async Task Calls_FromManyThreads_RunOnceEach_BesideOthers()
    {
        const int Callers = 8;
        const int Calls = 500;
        int[] runs = new int[Callers * Calls];
        ShmRig rig = await StartOneWayAsync(new Script
        {
            Unary = async (request, _) =>
            {
                if (int.TryParse(request.Text(), out int number))
                {
                    await Task.Yield();
                    Interlocked.Increment(ref runs[number]);
                }

                return request;
            },
        });
        ScriptClient client = OneWay(rig);

        await Task.WhenAll(Enumerable.Range(0, Callers).Select(caller => Timeouts.OnThread(() =>
        {
            for (int i = 0; i < Calls; i++)
            {
                Payload request = Payloads.Of($"{(caller * Calls) + i}");
                if (caller % 2 == 0)
                {
                    client.Unary(request);
                }
                else
                {
                    client.UnaryAsync(request).ResponseAsync.Bounded().GetAwaiter().GetResult();
                }

                if (i % 50 == 0)
                {
                    Assert.That(rig.Client.Unary(Payloads.Of("x")).Text(), Is.EqualTo("x"));
                }
            }
        }))).Bounded();

        await Timeouts.Eventually(() => runs.Sum() == runs.Length, "every call has run");
        Assert.That(runs, Is.All.EqualTo(1));
        Assert.That(Failures, Is.Empty);
    }

    [Test]
    public async Task Method_SeesAnOrdinaryCall_AndWhatItAnswersIsDropped()
    {
        (string? Header, string Method, bool HasSession) seen = default;
        var ended = new TaskCompletionSource();
        ShmRig rig = await StartOneWayAsync(new Script
        {
            Unary = async (request, context) =>
            {
                seen = (context.RequestHeaders.GetValue("key"), context.Method, context.GetShmSession().Id > 0);
                await context.WriteResponseHeadersAsync(new Metadata { { "key", "back" } });
                context.ResponseTrailers.Add("key", "last");
                return ended.TrySetResult() ? null! : request;
            },
        });

        using AsyncUnaryCall<Payload> call =
            OneWay(rig).UnaryAsync(Payloads.Empty, new CallOptions(new Metadata { { "key", "there" } }));
        await call.ResponseAsync.Bounded();
        await ended.Task.Bounded();

        Assert.That(seen, Is.EqualTo(("there", Script.UnaryMethod.FullName, true)));
        Assert.That(await call.ResponseHeadersAsync.Bounded(), Is.Empty);
        Assert.That(call.GetTrailers(), Is.Empty);
        Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
        Assert.That(await rig.Client.UnaryAsync(Payloads.Empty).ResponseHeadersAsync.Bounded(), Is.Not.Null);
        Assert.That(Failures, Is.Empty);
    }

    [Test]
    public async Task DefaultTimeout_OfTheChannel_IsTheDeadlineOfTheCall([Values] bool isBlocking)
    {
        var deadline = new TaskCompletionSource<DateTime>(TaskCreationOptions.RunContinuationsAsynchronously);
        ShmRig rig = await StartOneWayAsync(new Script
        {
            Unary = (request, context) =>
            {
                deadline.TrySetResult(context.Deadline);
                return Task.FromResult(request);
            },
        });
        ShmChannel channel = rig.OpenChannel(options => options.DefaultTimeout = TimeSpan.FromHours(1));
        var client = new ScriptClient(channel.CreateOneWayInvoker());

        await (isBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.Empty))
            : client.UnaryAsync(Payloads.Empty).ResponseAsync).Bounded();

        Assert.That(await deadline.Task.Bounded(), Is.LessThan(DateTime.UtcNow.AddHours(1)));
    }

    [Test]
    public async Task MethodThatThrows_IsReportedCountedAndLogged_AndHarmsNothing()
    {
        ShmRig rig = await StartOneWayAsync();
        rig.Log.Expect(MethodThrew);
        long before = Diagnostics.Telemetry.OneWayFailed.CountOf("Unknown");

        await OneWay(rig).UnaryAsync(Payloads.Of("fail")).ResponseAsync.Bounded();

        Failure failure = await WaitForFailureAsync();
        Assert.That(failure.Method, Is.EqualTo(Script.UnaryMethod.FullName));
        Assert.That(failure.Status.StatusCode, Is.EqualTo(StatusCode.Unknown));
        Assert.That(Diagnostics.Telemetry.OneWayFailed.CountOf("Unknown"), Is.EqualTo(before + 1));
        Assert.That(
            (await rig.Log.WaitForAsync(MethodThrew)).Exception, Is.TypeOf<InvalidOperationException>());
        Assert.That((await rig.Client.UnaryAsync(Payloads.Of("x")).ResponseAsync.Bounded()).Text(), Is.EqualTo("x"));
    }

    [Test]
    public async Task MethodThatSetsAStatus_IsReported()
    {
        ShmRig rig = await StartOneWayAsync(new Script
        {
            Unary = (request, context) =>
            {
                context.Status = new Status(StatusCode.NotFound, "not here");
                return Task.FromResult(request);
            },
        });

        await OneWay(rig).UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Failure failure = await WaitForFailureAsync();
        Assert.That(failure.Status, Is.EqualTo(new Status(StatusCode.NotFound, "not here")));
        LogEntry entry = await rig.Log.WaitForAsync(OneWayCallFailed);
        Assert.That(entry.Message, Does.Contain(Script.UnaryMethod.FullName)
            .And.Contain("not here").And.Contain(rig.Served.Single().PeerName));
        Assert.That(entry.Level, Is.EqualTo(LogLevel.Warning));
    }

    // The ring of a new connection takes 5,000 bytes in one record. 10,000 need several, of which the last may be sent
    // after the call was refused.
    [TestCase("Nothing", 5_000, Description = "no such method")]
    [TestCase("Nothing", 10_000, Description = "no such method")]
    [TestCase("Duplex", 5_000, Description = "a stream on the server")]
    [TestCase("Duplex", 10_000, Description = "a stream on the server")]
    [TestCase("ServerStream", 5_000, Description = "a stream on the server")]
    public async Task RefusedCall_IsReported(string method, int size)
    {
        ShmRig rig = await StartOneWayAsync();

        RpcException? unsent = await FailureOfAsync(rig.ShmChannel.CreateOneWayInvoker(OnFailed)
            .AsyncUnaryCall(Script.Define(MethodType.Unary, method), null, default, Payloads.OfSize(size)));

        if (size == 5_000)
        {
            Assert.That(unsent, Is.Null, "A call that was sent has succeeded.");
        }

        Failure? failure = unsent is null ? await WaitForFailureAsync() : null;
        Assert.That((failure?.Status ?? unsent!.Status).StatusCode, Is.EqualTo(StatusCode.Unimplemented));
        Assert.That(failure?.Method ?? method, Does.EndWith(method));
        await OneWay(rig).UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => Begun.Contains("next"));
    }

    [Test]
    public async Task RequestAboveTheServersLimit_IsReported()
    {
        ShmRig rig = await StartOneWayAsync(options: RigOptions.AnySize with { ServerMaxReceive = 1000 });

        await OneWay(rig).UnaryAsync(Payloads.OfSize(5_000)).ResponseAsync.Bounded();

        Assert.That((await WaitForFailureAsync()).Status.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        await OneWay(rig).UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => Begun.Contains("next"));
    }

    [Test]
    public async Task LargeCall_ThatIsRefusedOnItsWay_FailsOrIsReported()
    {
        ShmRig rig = await StartOneWayAsync(
            options: RigOptions.AnySize with { ServerMaxReceive = 1000, RingCapacity = 64 << 10 });

        long before = Diagnostics.Telemetry.OneWayFailed.CountOf(nameof(StatusCode.ResourceExhausted));

        RpcException? failure = await FailureOfAsync(OneWay(rig).UnaryAsync(Payloads.OfSize(3_000_000)));

        Assert.That(
            failure?.StatusCode ?? (await WaitForFailureAsync()).Status.StatusCode,
            Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            Diagnostics.Telemetry.OneWayFailed.CountOf(nameof(StatusCode.ResourceExhausted)), Is.EqualTo(before + 1));
        await OneWay(rig).UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => Begun.Contains("next"));
    }

    [Test]
    public async Task HandlerThatThrows_IsLogged()
    {
        const int HandlerThrew = 309;
        ShmRig rig = await StartOneWayAsync();
        rig.Log.Expect(MethodThrew, HandlerThrew);
        var failing = new ScriptClient(rig.ShmChannel.CreateOneWayInvoker(
            (_, _) => throw new InvalidOperationException("The handler fails.")));

        await failing.UnaryAsync(Payloads.Of("fail")).ResponseAsync.Bounded();

        await rig.Log.WaitForAsync(HandlerThrew);
        await OneWay(rig).UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => Begun.Contains("next"));
    }

    [Test]
    public async Task Deadline_IsSent_AndEndsTheMethod()
    {
        ShmRig rig = await StartOneWayAsync();

        await OneWay(rig)
            .UnaryAsync(Payloads.Of("wait"), new CallOptions(deadline: DateTime.UtcNow.AddSeconds(1)))
            .ResponseAsync.Bounded();

        Assert.That((await WaitForFailureAsync()).Status.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        await Timeouts.Eventually(() => Ended == 1);
    }

    [Test]
    public async Task CallThatCannotBeSent_FailsAsOthersDo([Values] bool isBlocking)
    {
        ShmRig rig = await StartWithoutServerAsync();
        ScriptClient client = OneWay(rig);

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty))
            : await FailureOf(client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    [Test]
    public async Task CallWithAStream_Throws()
    {
        ShmRig rig = await StartOneWayAsync();
        ScriptClient client = OneWay(rig);

        Assert.That(() => client.Duplex(), Throws.InvalidOperationException.With.Message.Contains("one-way"));
        Assert.That(() => client.ClientStream(), Throws.InvalidOperationException);
        Assert.That(() => client.ServerStream(Payloads.Empty), Throws.InvalidOperationException);
    }

    [Test]
    public async Task CallsOfOneThread_BeginInTheirOrder_OneWayAndOthers()
    {
        ShmRig rig = await StartOneWayAsync(options => options.Limits.MaxConcurrentCallsPerConnection = 1);
        ScriptClient client = OneWay(rig);
        string[] sent = [.. Enumerable.Range(0, 200).Select(number => $"{number}")];

        await Timeouts.OnThread(() =>
        {
            foreach (string text in sent)
            {
                _ = text.EndsWith('7') ? rig.Client.Unary(Payloads.Of(text)) : client.Unary(Payloads.Of(text));
            }
        }).Bounded();

        await Timeouts.Eventually(() => Ended == sent.Length);
        Assert.That(Begun, Is.EqualTo(sent));
    }

    /// <summary>Returns how a call failed whose end came before its last frame was sent; null for a sent one.</summary>
    private static async Task<RpcException?> FailureOfAsync(AsyncUnaryCall<Payload> call)
    {
        try
        {
            await call.ResponseAsync.Bounded();
            return null;
        }
        catch (RpcException exception)
        {
            return exception;
        }
    }
}
