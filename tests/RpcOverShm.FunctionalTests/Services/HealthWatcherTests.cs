using Grpc.Core;
using Grpc.Health.V1;
using RpcOverShm.Services;
using RpcOverShm.Testing;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>One watch without a transport: what a client gets of what was noted, when its writes wait.</summary>
internal sealed class HealthWatcherTests
{
    [Test]
    public async Task Send_WhileAWriteWaits_KeepsTheLastFewInTheirOrder()
    {
        var watcher = new HealthWatcher();
        var responses = new HeldResponses();
        using var ended = new CancellationTokenSource();
        Task sending = watcher.SendAsync(responses, ended.Token);
        watcher.Note(ServingStatus.Serving);
        await Timeouts.Eventually(() => responses.Written.Count == 1);

        for (int i = 0; i < 1000; i++)
        {
            watcher.Note(i % 2 == 0 ? ServingStatus.NotServing : ServingStatus.Unknown);
            Assert.That(watcher.WaitingCount, Is.LessThanOrEqualTo(HealthWatcher.MostWaiting));
        }

        watcher.Note(ServingStatus.ServiceUnknown);
        responses.MayGoOn.SetResult();
        await Timeouts.Eventually(() => responses.Written.Count == 6);
        await ended.CancelAsync();
        await sending.Bounded();

        Assert.That(responses.Written, Is.EqualTo(new[]
        {
            ServingStatus.Serving,
            ServingStatus.NotServing,
            ServingStatus.Unknown,
            ServingStatus.NotServing,
            ServingStatus.Unknown,
            ServingStatus.ServiceUnknown,
        }));
    }

    [Test]
    public async Task Send_OfAStatusThatIsAgainTheSentOne_LeavesItOut()
    {
        var watcher = new HealthWatcher();
        var responses = new HeldResponses();
        using var ended = new CancellationTokenSource();
        Task sending = watcher.SendAsync(responses, ended.Token);
        watcher.Note(ServingStatus.Serving);
        await Timeouts.Eventually(() => responses.Written.Count == 1);

        watcher.Note(ServingStatus.Serving);
        watcher.Note(ServingStatus.NotServing);
        responses.MayGoOn.SetResult();
        await Timeouts.Eventually(() => responses.Written.Count == 2);
        await ended.CancelAsync();
        await sending.Bounded();

        Assert.That(responses.Written, Is.EqualTo(new[] { ServingStatus.Serving, ServingStatus.NotServing }));
    }

    [Test]
    public async Task Send_WhoseWriteFailsAsOfAnEndedCall_EndsWell([Values] bool isTokenFirst)
    {
        var watcher = new HealthWatcher();
        var responses = new HeldResponses();
        using var ended = new CancellationTokenSource();
        Task sending = watcher.SendAsync(responses, ended.Token);
        watcher.Note(ServingStatus.Serving);
        await Timeouts.Eventually(() => responses.Written.Count == 1);

        if (isTokenFirst)
        {
            await ended.CancelAsync();
        }

        Exception ofTheTransport = isTokenFirst ? new NotSupportedException() : new InvalidOperationException();
        responses.MayGoOn.SetException(ofTheTransport);

        Assert.That(async () => await sending.Bounded(), Throws.Nothing);
    }

    [Test]
    public async Task Send_WhoseWriteFailsOtherwise_Fails()
    {
        var watcher = new HealthWatcher();
        var responses = new HeldResponses();
        Task sending = watcher.SendAsync(responses, CancellationToken.None);
        watcher.Note(ServingStatus.Serving);
        await Timeouts.Eventually(() => responses.Written.Count == 1);

        responses.MayGoOn.SetException(new RpcException(new Status(StatusCode.ResourceExhausted, "too large")));

        Assert.That((await CallFailure.OfAsync(sending)).StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    /// <summary>A client whose first message goes when the test says so, and the others at once.</summary>
    private sealed class HeldResponses : IServerStreamWriter<HealthCheckResponse>
    {
        private readonly List<ServingStatus> _written = [];

        public TaskCompletionSource MayGoOn { get; } = new();

        public WriteOptions? WriteOptions { get; set; }

        public IReadOnlyList<ServingStatus> Written
        {
            get
            {
                lock (_written)
                {
                    return [.. _written];
                }
            }
        }

        public Task WriteAsync(HealthCheckResponse message)
        {
            lock (_written)
            {
                _written.Add(message.Status);
            }

            return MayGoOn.Task;
        }
    }
}
