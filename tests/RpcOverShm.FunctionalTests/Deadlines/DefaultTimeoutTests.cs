using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.Deadlines;

/// <summary>
/// The time limits of calls by the channel's options: <see cref="ShmChannelOptions.DefaultTimeout"/> and
/// <see cref="ShmMethodConfig.Timeout"/>.
/// </summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[Parallelizable]
internal sealed class DefaultTimeoutTests() : RigFixture(RigKind.Shm)
{
    private const int None = 0;
    private const int Infinite = -1;

    private static readonly TimeSpan s_short = TimeSpan.FromMilliseconds(100);

    private readonly ConcurrentQueue<DateTime> _deadlines = new();

    private Script Noting => Script.Everywhere(context =>
    {
        _deadlines.Enqueue(context.Deadline);
        return Task.CompletedTask;
    });

    /// <summary>The hours of a call's deadline, of its method's timeout and of the default, and which counts.</summary>
    private static IEnumerable<TestCaseData> Limits =>
    [
        new(None, None, 5, 5),
        new(9, None, 5, 9),
        new(2, None, 5, 2),
        new(None, 7, 5, 7),
        new(9, 7, 5, 7),
        new(2, 7, 5, 2),
        new(None, 7, None, 7),
        new(9, 7, None, 7),
        new(None, Infinite, 5, None),
        new(9, Infinite, 5, 9),
        new(Infinite, None, 5, 5),
        new(Infinite, 7, None, 7),
        new(9, None, None, 9),
        new(None, None, None, None),
    ];

    [TestCaseSource(nameof(Limits))]
    public async Task Deadline_ThatTheServerSees_IsTheLimitThatCounts(
        int deadline, int method, int byDefault, int expected)
    {
        ShmRig rig = await StartShmAsync(Noting);
        using ShmChannel plain = Open(rig, HoursOf(method), HoursOf(byDefault));
        using ShmChannel retrying = Open(
            rig, HoursOf(method), HoursOf(byDefault), new RigRetries(2, StatusCode.Aborted));
        DateTime? own = deadline == Infinite ? DateTime.MaxValue : DateTime.UtcNow + HoursOf(deadline);
        var options = new CallOptions(deadline: own);

        foreach (ShmChannel channel in new[] { plain, retrying })
        {
            foreach (MethodType shape in AnyCall.Shapes)
            {
                await AnyCall.Start(channel.CreateCallInvoker(), shape, options).Outcome.Bounded();
            }

            new ScriptClient(channel.CreateCallInvoker()).Unary(Payloads.Empty, options);
            using ShmCallBatch batch = channel.CreateBatch();
            AsyncUnaryCall<Payload> recorded = new ScriptClient(batch.CallInvoker).UnaryAsync(Payloads.Empty, options);
            await batch.SendAsync();
            await recorded.ResponseAsync.Bounded();
        }

        Assert.That(_deadlines, Has.Count.EqualTo(12));
        DateTime now = DateTime.UtcNow;
        Assert.That(
            _deadlines.Select(one => one == DateTime.MaxValue ? None : Math.Round((one - now).TotalHours)),
            Is.All.EqualTo(expected));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Default_ThatPasses_EndsACallOfAnyShape(MethodType shape)
    {
        ShmRig rig = await StartShmAsync(new HeldMethods().Script);
        using ShmChannel channel = Open(rig, byDefault: s_short);

        AnyCall call = AnyCall.Start(channel.CreateCallInvoker(), shape);

        Assert.That((await FailureOf(call.Outcome)).StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(call.Status.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    public async Task Timeout_ThatPasses_EndsABlockingCall([Values] bool isOfMethod, [Values] bool isRetried)
    {
        var held = new HeldMethods();
        ShmRig rig = await StartShmAsync(held.Script);
        using ShmChannel channel = Open(
            rig,
            isOfMethod ? s_short : null,
            isOfMethod ? null : s_short,
            isRetried ? new RigRetries(2, StatusCode.Aborted) : null);

        await channel.ConnectAsync().Bounded();

        do
        {
            RpcException failure = await CallFailure.OfBlocking(
                () => new ScriptClient(channel.CreateCallInvoker()).Unary(Payloads.Empty));
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        }
        while (held.Begun == 0); // On a busy machine the time may pass before the method begins.

        await held.Cancelled.Bounded();
    }

    [Test]
    public async Task Stream_ThatIsAlive_EndsWhenTheTimeHasPassed()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                while (true)
                {
                    await responses.WriteAsync(request, context.CancellationToken);
                }
            },
        });
        using ShmChannel channel = Open(rig, byDefault: s_short);

        using AsyncServerStreamingCall<Payload> call = new ScriptClient(channel.CreateCallInvoker())
            .ServerStream(Payloads.Empty);
        RpcException failure = await FailureOf(call.ResponseStream.ToListAsync());

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    // If each attempt had the time for itself, the call would never end.
    [Test]
    public async Task Attempts_OfARetriedCall_ShareTheTime([Values] bool isOfMethod, [Values] bool isBlocking)
    {
        const int Calls = 20;
        int attempts = 0;
        ShmRig rig = await StartShmAsync(Script.Everywhere(_ =>
        {
            Interlocked.Increment(ref attempts);
            throw new RpcException(new Status(StatusCode.Unavailable, "never"));
        }));
        var time = TimeSpan.FromMilliseconds(50);
        using ShmChannel channel = Open(
            rig,
            isOfMethod ? time : null,
            isOfMethod ? null : time,
            new RigRetries(int.MaxValue, StatusCode.Unavailable));
        var client = new ScriptClient(channel.CreateCallInvoker());

        // In some of the calls an attempt fails just as the time ends.
        for (int call = 0; call < Calls; call++)
        {
            RpcException failure = isBlocking
                ? await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty))
                : await FailureOf(client.UnaryAsync(Payloads.Empty));
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        }

        Assert.That(attempts, Is.GreaterThan(Calls));
    }

    [Test]
    public async Task WaitForAServer_IsWithinTheTime([Values] bool isBlocking)
    {
        ShmRig rig = await StartWithoutServerAsync();
        using ShmChannel channel = Open(rig, byDefault: s_short);
        var client = new ScriptClient(channel.CreateCallInvoker());
        CallOptions options = new CallOptions().WithWaitForReady();

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty, options))
            : await FailureOf(client.UnaryAsync(Payloads.Empty, options));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [TestCase(0)]
    [TestCase(-1)]
    public void Timeout_ThatIsNotAboveZero_IsRefusedByName(int milliseconds)
    {
        TimeSpan time = TimeSpan.FromMilliseconds(milliseconds) - TimeSpan.FromTicks(1);
        var config = new ShmServiceConfig
        {
            MethodConfigs = { new ShmMethodConfig { Names = { ShmMethodName.Default }, Timeout = time } },
        };

        Assert.That(
            () => ShmChannel.ForAddress("shm://x", new ShmChannelOptions { DefaultTimeout = time }),
            Throws.TypeOf<ArgumentOutOfRangeException>().With.Message.Contains("DefaultTimeout is above zero"));
        Assert.That(
            () => ShmChannel.ForAddress("shm://x", new ShmChannelOptions { ServiceConfig = config }),
            Throws.TypeOf<ArgumentOutOfRangeException>()
                .With.Message.Contains("ServiceConfig.MethodConfigs[0].Timeout is above zero or infinite"));
    }

    private static TimeSpan? HoursOf(int hours) => hours switch
    {
        None => null,
        Infinite => Timeout.InfiniteTimeSpan,
        _ => TimeSpan.FromHours(hours),
    };

    private static ShmChannel Open(
        ShmRig rig, TimeSpan? ofMethod = null, TimeSpan? byDefault = null, RigRetries? retries = null) =>
        rig.OpenChannel(options =>
        {
            options.DefaultTimeout = byDefault;
            options.MaxRetryAttempts = null;
            options.ServiceConfig = retries?.ToServiceConfig() ?? new ShmServiceConfig
            {
                MethodConfigs = { new ShmMethodConfig { Names = { ShmMethodName.Default } } },
            };
            options.ServiceConfig.MethodConfigs[0].Timeout = ofMethod;
        });
}
