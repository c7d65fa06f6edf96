using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;
using RpcOverShm.Retries;
using RpcOverShm.Tests.Clients;

namespace RpcOverShm.Tests.Retries;

/// <summary>A retried call is disposed of between an event of an attempt and the call's reaction to it.</summary>
public class RetriedCallTests
{
    private const int MostBytes = 100;
    private const int CallCommitted = 203;

    private static readonly CallOutcome s_refusal = CallOutcome.FromServer(
        new Status(StatusCode.Unavailable, "not now"), new Metadata { { RetryPolicy.PushbackKey, "0" } });

    private static readonly Status s_disposed = new(StatusCode.Cancelled, "gRPC call disposed.");

    private readonly RetrySettings _settings = new()
    {
        Policies = new Dictionary<string, RetryPolicy?>(),
        Throttle = null,
        Budget = new RetryBudget(wholeBytes: null, RetryBuffer.BytesPerRequest + MostBytes),
    };

    private readonly LogGuard _log = new();
    private readonly LooseMethod _method;
    private readonly Queue<Func<Attempt<string>>> _attempts = [];
    private int _made;

    public RetriedCallTests() => _method = new LooseMethod(_log);

    [TestCase(StatusCode.OK, null, 3, nameof(CommitReason.Answered))]
    [TestCase(StatusCode.NotFound, null, 3, nameof(CommitReason.StatusNotRetryable))]
    [TestCase(StatusCode.Unavailable, "-1", 3, nameof(CommitReason.RefusedByServer))]
    [TestCase(StatusCode.Unavailable, "0", 1, nameof(CommitReason.AttemptsUsedUp))]
    [TestCase(StatusCode.Unavailable, "0", 3, nameof(CommitReason.Throttled))]
    public async Task Commit_OfTheFirstAttempt_IsLoggedWithItsReason(
        StatusCode status, string? pushback, int maxAttempts, string reason)
    {
        Metadata trailers = pushback is null ? [] : new Metadata { { RetryPolicy.PushbackKey, pushback } };
        TaskCompletionSource<string> response = Add(EndedAs(CallOutcome.FromServer(new Status(status, ""), trailers)));
        bool isThrottled = reason == nameof(CommitReason.Throttled);
        Start(maxAttempts, isThrottled ? new RetryThrottle(maxTokens: 1, tokenRatio: 1) : null);

        response.SetResult("");

        Assert.That(await CommitLogAsync(), Is.EqualTo($"/loose/method is not retried after attempt 1: {reason}."));
    }

    [Test]
    public async Task Deadline_ThatHasPassed_IsLoggedAsTheReason()
    {
        Add(EndedAs(s_refusal)).SetResult("");
        Start(options: new CallOptions(deadline: DateTime.MinValue));

        Assert.That(await CommitLogAsync(), Does.EndWith("DeadlineExceeded."));
    }

    [TestCase(1)]
    [TestCase(3)]
    public async Task Dispose_WhenAnAttemptHasFailedAndNobodyKnows_LeavesOneStatus(int maxAttempts)
    {
        TaskCompletionSource<string> response = Add(EndedAs(s_refusal));
        RetriedCall<string> call = Start(maxAttempts);

        call.Dispose();
        Status early = call.Status;
        response.SetException(new RpcException(s_refusal.Status));

        Assert.That(early, Is.EqualTo(s_disposed));
        Assert.That(async () => await call.ResponseAsync.Bounded(), Throws.InstanceOf<RpcException>()
            .With.Property(nameof(RpcException.StatusCode)).EqualTo(StatusCode.Cancelled));
        Assert.That((call.Status, call.IsDisposed), Is.EqualTo((early, true)));
        Assert.That(_made, Is.EqualTo(1));
        Assert.That(await CommitLogAsync(), Does.EndWith("Cancelled."));
    }

    [Test]
    public async Task Dispose_WhenAnAttemptHasSucceededAndNobodyKnows_LeavesTheSuccess()
    {
        TaskCompletionSource<string> response = Add(EndedAs(CallOutcome.Success));
        RetriedCall<string> call = Start();

        call.Dispose();
        Status early = call.Status;
        response.SetResult("answer");

        Assert.That(early.StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(await call.ResponseAsync.Bounded(), Is.EqualTo("answer"));
        Assert.That((call.Status.StatusCode, call.IsDisposed), Is.EqualTo((StatusCode.OK, true)));
    }

    [Test]
    public void Dispose_WhenAnAttemptHasEndedForGoodAndNobodyKnows_LeavesThatEnd()
    {
        var cancelled = CallOutcome.Local(StatusMapping.ClientCancelled, CancellationToken.None);
        TaskCompletionSource<string> response = Add(EndedAs(cancelled));
        RetriedCall<string> call = Start();

        call.Dispose();
        Status early = call.Status;
        response.SetException(new RpcException(cancelled.Status));

        Assert.That(early, Is.EqualTo(StatusMapping.ClientCancelled));
        Assert.That(async () => await call.ResponseAsync.Bounded(), Throws.InstanceOf<RpcException>());
        Assert.That((call.Status, call.IsDisposed), Is.EqualTo((early, true)));
    }

    [Test]
    public async Task Dispose_WhileTheNextAttemptIsBeingMade_EndsThatOneToo()
    {
        TaskCompletionSource<string> response = Add(EndedAs(s_refusal));
        RetriedCall<string>? call = null;
        SingleResponseCall<string> second = Unsent();
        _attempts.Enqueue(() =>
        {
            call!.Dispose();
            return new Attempt<string>(second, second.ResponseAsync, Responses: null, Requests: null);
        });
        call = Start();

        response.SetException(new RpcException(s_refusal.Status));

        Assert.That(async () => await call.ResponseAsync.Bounded(), Throws.InstanceOf<RpcException>());
        await Timeouts.Eventually(() => second.IsFinished, "the attempt that nobody wants has ended");
        Assert.That((call.Status, second.Status), Is.EqualTo((s_disposed, s_disposed)));
    }

    [Test]
    public async Task Dispose_WhileAnAttemptIsWriting_FailsTheWriteAsTheCall()
    {
        var requests = new HeldWriter();
        SingleResponseCall<string> attempt = Unsent();
        Add(attempt, requests);
        RetriedCall<string> call = Start();
        Task write = call.WriteAsync(MessageOf(1), options: null);
        await requests.HoldAsync();

        call.Dispose();
        await requests.FailAsync(new ObjectDisposedException("the attempt"));

        Assert.That(async () => await write.Bounded(), Throws.InstanceOf<RpcException>()
            .With.Property(nameof(RpcException.Status)).EqualTo(s_disposed));
        Assert.That((call.Status, attempt.Status), Is.EqualTo((s_disposed, s_disposed)));
    }

    [Test]
    public async Task Request_ThatIsTooMuchToKeep_MakesTheAttemptUnderWayTheLast()
    {
        SingleResponseCall<string> attempt = Unsent();
        TaskCompletionSource<string> response = Add(attempt, new HeldWriter());
        RetriedCall<string> call = Start();
        _ = call.WriteAsync(MessageOf(MostBytes), options: null);
        (bool IsCommitted, long Kept) before = (call.WhenCommittedAsync().IsCompleted, _settings.Budget.Kept);

        _ = call.WriteAsync(MessageOf(1), options: null);
        (bool IsCommitted, long Kept) after = (call.WhenCommittedAsync().IsCompleted, _settings.Budget.Kept);
        attempt.Finish(s_refusal, isCancel: false);
        response.SetException(new RpcException(s_refusal.Status));

        Assert.That(before, Is.EqualTo((false, RetryBuffer.BytesPerRequest + MostBytes)));
        Assert.That(after, Is.EqualTo((true, 0)));
        Assert.That(await CommitLogAsync(), Does.EndWith("BufferFull."));
        Assert.That(async () => await call.ResponseAsync.Bounded(), Throws.InstanceOf<RpcException>()
            .With.Property(nameof(RpcException.StatusCode)).EqualTo(StatusCode.Unavailable));
        Assert.That(_made, Is.EqualTo(1));
    }

    [Test]
    public async Task Request_ThatIsTooMuchInAPause_MakesTheNextAttemptTheLast_WithAllRequests()
    {
        var second = new HeldWriter();
        SingleResponseCall<string> last = Unsent();
        RetriedCall<string>? call = null;
        TaskCompletionSource<string> response = Add(EndedAs(s_refusal), new HeldWriter());
        _attempts.Enqueue(() =>
        {
            // This write ends the back-off.
            _ = call!.WriteAsync(MessageOf(MostBytes), options: null);
            return new Attempt<string>(last, last.ResponseAsync, Responses: null, second);
        });
        call = Start();
        _ = call.WriteAsync(MessageOf(1), options: null);

        response.SetException(new RpcException(s_refusal.Status));
        await call.WhenCommittedAsync().Bounded();
        await second.ReleaseAsync(2);

        Assert.That(second.Lengths, Is.EqualTo(new[] { 1, MostBytes }));
        Assert.That(_settings.Budget.Kept, Is.Zero);
        Assert.That(_made, Is.EqualTo(2));
        call.Dispose();
        Assert.That(last.Status, Is.EqualTo(s_disposed));
    }

    [Test]
    public async Task Read_BesideTheFirst_IsRefusedUntilTheFirstIsDone()
    {
        SingleResponseCall<string> attempt = Unsent();
        var responses = new HeldReader();
        _attempts.Enqueue(() => new Attempt<string>(attempt, Response: null, responses, Requests: null));
        var reader = new RetriedResponseReader<string>(Start());

        Task<bool> first = reader.MoveNext(CancellationToken.None);
        Task<bool> beforeTheCommit = reader.MoveNext(CancellationToken.None);
        attempt.EndByServer(Status.DefaultSuccess, "An answer commits the attempt.");
        await Timeouts.Eventually(() => responses.Reads == 1, "the attempt is asked for its first message");
        Task<bool> afterTheCommit = reader.MoveNext(CancellationToken.None);
        responses.Read.SetResult(true);
        (bool, bool) reads = (await first.Bounded(), await reader.MoveNext(CancellationToken.None).Bounded());

        Assert.That(async () => await beforeTheCommit.Bounded(), Throws.InvalidOperationException);
        Assert.That(async () => await afterTheCommit.Bounded(), Throws.InvalidOperationException);
        Assert.That((reads, responses.Reads), Is.EqualTo(((true, true), 2)));
    }

    private static SerializedMessage MessageOf(int bytes) => new(new byte[bytes]);

    // Entries are written on the pool, after what they tell of.
    private async Task<string> CommitLogAsync()
    {
        await _log.WaitForAsync(CallCommitted);
        return _log.Of(CallCommitted).Single().Message;
    }

    private SingleResponseCall<string> Unsent() => new(_method, latch: null);

    private SingleResponseCall<string> EndedAs(CallOutcome end)
    {
        SingleResponseCall<string> call = Unsent();
        call.Finish(end, isCancel: false);
        return call;
    }

    /// <summary>Adds an attempt. The call learns of the attempt's end through the returned response.</summary>
    private TaskCompletionSource<string> Add(SingleResponseCall<string> call, HeldWriter? requests = null)
    {
        var response = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        _attempts.Enqueue(() => new Attempt<string>(call, response.Task, Responses: null, requests));
        return response;
    }

    private RetriedCall<string> Start(
        int maxAttempts = 3, RetryThrottle? throttle = null, CallOptions options = default)
    {
        var policy = new RetryPolicy(
            maxAttempts,
            InitialBackoff: TimeSpan.FromHours(1),
            MaxBackoff: TimeSpan.FromHours(1),
            Multiplier: 1,
            new HashSet<StatusCode> { StatusCode.Unavailable });
        RetrySettings settings = _settings with { Throttle = throttle };
        return new RetriedCall<string>(
            settings, policy, _method, options, new RetryBuffer(settings.Budget), Make, end: null, observation: null);
    }

    private Attempt<string> Make(CallOptions options, CallOutcome? end)
    {
        if (end is not null)
        {
            SingleResponseCall<string> ended = EndedAs(end);
            return new Attempt<string>(ended, ended.ResponseAsync, Responses: null, Requests: null);
        }

        _made++;
        return _attempts.Dequeue()();
    }

    private sealed class HeldReader : IAsyncStreamReader<string>
    {
        private int _reads;

        public TaskCompletionSource<bool> Read { get; } = new();

        public int Reads => Volatile.Read(ref _reads);

        public string Current => "";

        public Task<bool> MoveNext(CancellationToken cancellationToken)
        {
            Interlocked.Increment(ref _reads);
            return Read.Task;
        }
    }
}
