namespace RpcOverShm.FunctionalTests.Topics;

/// <summary>
/// The base of fixtures with topics. The same tests run with clients that map the topic, and with clients that do not,
/// whose messages are written to their streams.
/// </summary>
internal abstract class TopicFixture(bool isMapped) : RigFixture(RigKind.Shm)
{
    protected const int Capacity = 64 << 10;

    protected bool IsMapped => isMapped;

    protected ShmTopic<Payload> Topic { get; private set; } = null!;

    [TearDown]
    public void EndTopic() => Topic?.Dispose();

    /// <summary>Starts a server whose streaming methods read a topic.</summary>
    protected Task<ShmRig> StartTopicAsync(
        ShmSubscribeOptions? options = null, ShmTopicOptions? topic = null, RigOptions? rig = null)
    {
        Topic = new ShmTopic<Payload>(topic ?? new ShmTopicOptions { Capacity = Capacity, MaxMessages = 64 });
        var script = new Script
        {
            ServerStream = (_, responses, context) => Topic.SubscribeAsync(responses, context, options),
            Duplex = (_, responses, context) => Topic.SubscribeAsync(responses, context, options),
        };
        return StartShmAsync(script, rig);
    }

    /// <summary>Opens a channel that maps topics or not, as the fixture says.</summary>
    protected ShmChannel OpenChannel(ShmRig rig) =>
        rig.OpenChannel(options => options.MaxTopicSize = isMapped ? options.MaxTopicSize : 0);

    /// <summary>Subscribes, and waits until that has begun.</summary>
    protected static async Task<AsyncServerStreamingCall<Payload>> SubscribeAsync(
        ShmChannel channel, CallOptions options = default)
    {
        AsyncServerStreamingCall<Payload> call = channel.CreateCallInvoker()
            .AsyncServerStreamingCall(Script.ServerStreamMethod, null, options, Payloads.Empty);
        await call.ResponseHeadersAsync.Bounded();
        return call;
    }

    protected static async Task AssertNextAsync(AsyncServerStreamingCall<Payload> call, string text)
    {
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo(text));
    }

    protected static async Task<Status> EndOfAsync(AsyncServerStreamingCall<Payload> call)
    {
        try
        {
            while (await call.ResponseStream.MoveNext(CancellationToken.None).Bounded())
            {
            }
        }
        catch (RpcException)
        {
            // The status says it.
        }

        return call.GetStatus();
    }
}
