using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Protocol;
using static RpcOverShm.Tests.Clients.HandServedCalls;

namespace RpcOverShm.Tests.Clients;

/// <summary>The first thing that ends a call is its outcome, in every order in which they can come.</summary>
internal sealed class ClientCallTests
{
    private static readonly Status s_leaving = new(StatusCode.Unavailable, "leaving");
    private static readonly CloseReason s_lost = new(CloseKind.PeerLost, "lost");
    private static readonly string s_large = new('r', ByteArrays.SharedBytes + 1); // an array of the library's pool

    private static readonly Dictionary<string, Action<ClientCall>> s_rivals = new()
    {
        ["deadline"] = call => call.OnDeadline(),
        ["token"] = call => call.Cancel(new CancellationToken(canceled: true)),
        ["dispose"] = call => call.Dispose(),
        ["close"] = call => call.OnConnectionClosed(s_lost),
    };

    private readonly CallingRig _rig = new();
    private readonly LooseMethod _method = new();
    private readonly CancellationTokenSource _cancel = new();

    /// <summary>The arrays of the library's pool that are rented.</summary>
    private static long Held => ByteArrays.Rents - ByteArrays.Returns;

    // With a token that may fire, a blocking call is not its thread's alone.
    private CallOptions Cancellable => new(cancellationToken: _cancel.Token);

    [TearDown]
    public void Dispose()
    {
        _rig.Dispose();
        _cancel.Dispose();
    }

    [Test]
    public void Failure_ReadBeforeItsCallerKnows_IsTheOutcomeWhateverComesThen(
        [Values] bool isBlocking, [Values("deadline", "token", "dispose", "close")] string rival)
    {
        SingleResponseCall<string> call = _rig.Start(Unary(isBlocking), Cancellable);

        // Another thread reads: the blocked one has not woken, or the response's task is not completed yet.
        call.EndByServer(Planned);
        bool wasKnown = isBlocking ? call.Latch!.IsSignalled : call.ResponseAsync.IsCompleted;
        s_rivals[rival](call);

        Assert.That(wasKnown, Is.False);
        Assert.That(call.Status, Is.EqualTo(Planned));
        AssertFailed(Settle(call), Planned);
    }

    // Its thread ends a blocking call at the deadline, but not while that runs a callback.
    [Test]
    public async Task Deadline_OfABlockingCallWhoseThreadRunsCallbacks_EndsIt()
    {
        SingleResponseCall<string> call = Unary(isBlocking: true);
        Assert.That(call.TryArm(new CallOptions(deadline: DateTime.UtcNow.AddSeconds(1))), Is.True);

        call.StartDeadlineTimer();

        await Timeouts.Eventually(() => call.IsFinished);
        Assert.That(call.Status.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    public void Outcome_OfAServersEndAndACancelAtOnce_IsOneOfThem([Values] bool isBlocking)
    {
        SingleResponseCall<string> call = null!;
        var race = new TwoThreadRace(10_000)
        {
            Prepare = () =>
            {
                call = Unary(isBlocking);
                call.TryArm(Cancellable);
                call.TryAttach(_rig.Connection);
            },
            Left = () =>
            {
                call.EndByServer(Planned);
                return call.Status.Equals(Planned);
            },
            Right = () => call.Finish(StatusMapping.ClientCancelled, isCancel: true),
        };

        race.Run();

        Assert.That((race.BothSaw, race.NeitherSaw), Is.EqualTo((0, 0)), race.ToString());
    }

    // An interrupt of the blocked thread and a failure to connect need neither a token nor a deadline.
    [Test]
    public void Outcome_OfABlockingCallThatTwoThreadsEnd_IsSettledOnce()
    {
        SingleResponseCall<string> call = null!;
        var race = new TwoThreadRace(50_000)
        {
            Prepare = () =>
            {
                call = Unary(isBlocking: true);
                call.TryArm(default);
            },
            Left = () => call.Finish(Planned, isCancel: true),
            Right = () => call.Finish(StatusMapping.ClientCancelled, isCancel: true),
        };

        race.Run();

        Assert.That((race.BothSaw, race.NeitherSaw), Is.EqualTo((0, 0)), race.ToString());
    }

    [Test]
    public void Response_OfACallThatIsCancelledBeforeItIsRead_IsReleased([Values] bool isBlocking)
    {
        long held = Held;
        SingleResponseCall<ShmPayload> call = _rig.Start(
            new SingleResponseCall<ShmPayload>(new PayloadMethod(), isBlocking ? new AutoResetLatch() : null),
            Cancellable);

        call.EndByServer(Status.DefaultSuccess, s_large);
        long stored = Held - held;
        call.Finish(StatusMapping.ClientCancelled, isCancel: true);

        AssertFailed(Settle(call), StatusMapping.ClientCancelled);
        Assert.That((stored, Held - held), Is.EqualTo((1, 0)));
    }

    [Test]
    public void Response_OfABlockingCallWhoseThreadIsInterrupted_IsReleased()
    {
        long held = Held;
        var call = _rig.Start(new SingleResponseCall<ShmPayload>(new PayloadMethod(), new AutoResetLatch()));

        call.EndByServer(Status.DefaultSuccess, s_large);
        long stored = Held - held;
        call.CancelBlocking();

        Assert.That((stored, Held - held), Is.EqualTo((1, 0)));
    }

    [Test]
    public void Response_OfABlockingCallThatIsCancelledAtOnce_IsTheCallersOrReleased()
    {
        var method = new PayloadMethod();
        ShmPayload? taken = null;
        long held = Held;
        long rents = ByteArrays.Rents;
        int lost = 0;
        int released = 0;
        SingleResponseCall<ShmPayload> call = null!;
        var race = new TwoThreadRace(10_000)
        {
            Prepare = () =>
            {
                CountLast();
                call = new SingleResponseCall<ShmPayload>(method, new AutoResetLatch());
                call.TryArm(Cancellable);
                call.TryAttach(_rig.Connection);
            },
            Left = () =>
            {
                call.EndByServer(Status.DefaultSuccess, s_large);
                return true;
            },
            Right = () =>
            {
                if (!call.IsWaitOver)
                {
                    call.Finish(StatusMapping.ClientCancelled, isCancel: true);
                }

                taken = Settle(call) is { IsCompletedSuccessfully: true } success ? success.Result : null;
                return taken is not null;
            },
        };

        // On a busy machine one side may win thousands of times in a row.
        for (int runs = 0; runs < 20 && (released == 0 || race.BothSaw == 0); runs++)
        {
            race.Run();
            CountLast();
        }

        Assert.That(lost, Is.Zero, race.ToString());
        Assert.That(new[] { released, race.BothSaw }, Is.All.Positive, "Both ends came about.");

        void CountLast()
        {
            released += taken is null && ByteArrays.Rents > rents ? 1 : 0;
            taken?.Dispose();
            taken = null;
            rents = ByteArrays.Rents;
            lost += Held != held ? 1 : 0;
        }
    }

    [Test]
    public void Cancel_BetweenTheConnectionAndTheStart_LeavesNothingOfTheCall()
    {
        SingleResponseCall<string> attached = Unary(isBlocking: false);
        Assert.That(attached.TryAttach(_rig.Connection));
        attached.Cancel(CancellationToken.None);
        SingleResponseCall<string> ended = Unary(isBlocking: false);
        ended.Dispose();

        Assert.That(ended.TryAttach(_rig.Connection), Is.False);
        Assert.That(
            _rig.Connection.StartCall(attached, FrameFlags.None, "head"u8, default),
            Is.EqualTo(StartResult.Abandoned));
        Assert.That(_rig.Connection.OutgoingTwoWayCount, Is.Zero);
        _rig.Start(Unary(isBlocking: false)); // The peer sees this one first.
    }

    [Test]
    public void BlockingCall_ThatSucceeded_IsUsedAgainAndKeepsNothing()
    {
        SingleResponseCall<string> first = _rig.Start(SingleResponseCall<string>.ForThisThread(_method));
        first.EndByServer(Status.DefaultSuccess, "one");
        string response = first.TakeResponse();

        SingleResponseCall<string> second = _rig.Start(SingleResponseCall<string>.ForThisThread(_method));
        (bool IsWaitOver, bool HasEnd, bool HasResponse) before =
            (second.IsWaitOver, second.HasEnd, second.HasResponse);
        second.EndByServer(Planned);

        Assert.That(response, Is.EqualTo("one"));
        Assert.That(second, Is.SameAs(first));
        Assert.That(before, Is.EqualTo((false, false, false)));
        AssertFailed(Settle(second), Planned);
        Assert.That(SingleResponseCall<string>.ForThisThread(_method), Is.Not.SameAs(first), "A failure is its last.");
    }

    [TestCase("headers", true)]
    [TestCase("a status that is no refusal", true)]
    [TestCase("a stream of requests", false)]
    public void Refusal_OfACallThatCannotStartAgain_IsItsOutcome(string because, bool hasSnapshot)
    {
        SingleResponseCall<string> call = _rig.Start(Unary(isBlocking: false));
        if (hasSnapshot)
        {
            call.KeepSnapshot("request");
        }

        if (because == "headers")
        {
            using var none = new PooledBufferWriter();
            MetadataCodec.Encode(none, []);
            call.OnHeaders(none.WrittenSpan);
        }

        Status refusal = because.StartsWith("a status", StringComparison.Ordinal) ? Planned : s_leaving;
        call.EndByServer(refusal, isNotProcessed: true);

        Assert.That(call.Status, Is.EqualTo(refusal));
    }

    [Test]
    public void Refusal_OfACallThatIsGivenUpBeforeItStartsAgain_LeavesItGivenUp()
    {
        SingleResponseCall<string> call = _rig.Start(Unary(isBlocking: true), Cancellable);
        call.EndByServer(s_leaving, isNotProcessed: true);
        (bool IsWaitOver, bool IsFinished) refused = (call.IsWaitOver, call.IsFinished);

        call.OnDeadline();

        Assert.That(refused, Is.EqualTo((true, false)));
        Assert.That(call.TryResetForRetry(), Is.False);
        AssertFailed(Settle(call), StatusMapping.ClientDeadline);
    }

    [Test]
    public async Task Refusal_WhileTheStarterSendsTheRequest_WaitsUntilThatThreadIsDone()
    {
        bool isHandedOver = false;
        var retried = new TaskCompletionSource<(bool, object)>(TaskCreationOptions.RunContinuationsAsynchronously);
        var method = new LooseMethod { OnRetry = with => retried.SetResult((Volatile.Read(ref isHandedOver), with)) };
        SingleResponseCall<string> call = _rig.Start(new SingleResponseCall<string>(method, latch: null));
        call.KeepSnapshot("request");
        call.MarkStarting(isWhole: false);

        call.EndByServer(s_leaving, isNotProcessed: true);
        await Task.Run(() => { }).Bounded(); // A retry that does not wait was queued before this.
        Volatile.Write(ref isHandedOver, true);
        call.MarkHandedOver();

        Assert.That(await retried.Task.Bounded(), Is.EqualTo((true, (object)"request")));
        Assert.That((call.IsFinished, call.Connection), Is.EqualTo((false, (object?)null)));
        call.Dispose();
    }

    [Test]
    public async Task EndedToken_AskedForAtAnyTime_FiresOnThePoolAndSurvivesItsCallbacks()
    {
        SingleResponseCall<string> early = Unary(isBlocking: false);
        early.TryArm(default, mayStartSlowly: true);
        var fired = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        using var first = early.Ended.Register(() => fired.SetResult(Thread.CurrentThread.IsThreadPoolThread));
        using var last = early.Ended.Register(() => throw new InvalidOperationException("A callback of a user."));

        TestThread.Start("ender", early.Dispose).Join();

        Assert.That(await fired.Task.Bounded(), Is.True);
        SingleResponseCall<string> late = Unary(isBlocking: false);
        late.TryArm(default, mayStartSlowly: true);
        late.Dispose();
        await Timeouts.Eventually(() => late.Ended.IsCancellationRequested);
    }

    [Test]
    public void Metadata_OfFarMoreThanTheLimit_FailsTheCallAndIsNotRead([Values] bool isTrailer)
    {
        const byte HasMetadata = 2;
        byte[] block = SampleMetadata.Block(46_000);
        byte[] trailer = [(byte)StatusCode.OK, HasMetadata, .. block];
        SingleResponseCall<string> call = _rig.Start(Unary(isBlocking: false));
        long before = GC.GetAllocatedBytesForCurrentThread();

        if (isTrailer)
        {
            call.OnEnd(trailer, default, FrameFlags.None);
        }
        else
        {
            call.OnHeaders(block);
        }

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(1 << 20));
        Assert.That(call.Status.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(call.Status.Detail, Does.Contain("larger than the 65536 bytes that are allowed"));
    }

    /// <summary>Lets the call's own thread or the pending user code take the outcome.</summary>
    private static Task<T> Settle<T>(SingleResponseCall<T> call)
        where T : class
    {
        if (call.Latch is null)
        {
            call.RunUserCode();
            return call.ResponseAsync;
        }

        try
        {
            return Task.FromResult(call.TakeResponse());
        }
        catch (RpcException exception)
        {
            return Task.FromException<T>(exception);
        }
    }

    private SingleResponseCall<string> Unary(bool isBlocking) => new(_method, isBlocking ? new AutoResetLatch() : null);

    private sealed class PayloadMethod() : ResponseMethod<ShmPayload>(
        LooseMethod.SettingsWith(new LogGuard()), LooseMethod.MethodOf(ShmPayload.Marshaller), ShmPayload.Marshaller)
    {
        public override void Start(ClientCall call, object snapshot) =>
            throw new InvalidOperationException("A call of no channel can't be started.");

        public override ShmPayload? CreateEmptyResponse() => null;
    }
}
