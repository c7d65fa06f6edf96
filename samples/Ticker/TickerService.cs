using Grpc.Core;

namespace RpcOverShm.Samples;

// snippet: service
/// <summary>An ordinary gRPC service, whose streams read one topic.</summary>
internal sealed class TickerService(ShmTopic<Tick> ticks) : Ticker.TickerBase
{
    // The time in which a subscriber must read all that the topic held when the publisher began to wait for it.
    private static readonly ShmSubscribeOptions s_waits = new() { MaxWait = TimeSpan.FromSeconds(30) };

    private static readonly ShmSubscribeOptions s_skips = new() { SlowSubscriber = ShmSlowSubscriber.Skip };

    public override Task Watch(
        WatchRequest request, IServerStreamWriter<Tick> responseStream, ServerCallContext context) =>
        ticks.SubscribeAsync(responseStream, context, request.MaySkip ? s_skips : s_waits);
}
// end snippet
