using Grpc.Core.Interceptors;
using RpcOverShm.FunctionalTests.Inspectors;

namespace RpcOverShm.FunctionalTests.Topics;

/// <summary>Calls whose messages cannot lie in the topic, of clients that would map it.</summary>
internal sealed class UnmappedTopicTests() : TopicFixture(isMapped: true)
{
    [Test]
    public async Task Compression_OfResponses_GetsItsMessagesOneByOne() =>
        await AssertNotMappedAsync(new RigOptions { ResponseCompression = "gzip" });

    [Test]
    public async Task Inspector_OfTheServer_SeesEachMessageOfEachCall()
    {
        var inspector = new RecordingInspector();
        await AssertNotMappedAsync(new RigOptions { Server = options => options.MessageInspectors.Add(inspector) });

        Assert.That(inspector.All.Count(seen => !seen.IsRequest), Is.EqualTo(2));
    }

    [Test]
    public async Task Interceptor_ThatReplacesMessages_IsNotPassedBy()
    {
        ShmRig rig = await StartTopicAsync(rig: new RigOptions { ServerInterceptors = [new Prefixer()] });
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        Topic.Publish(Payloads.Of("a"));

        await AssertNextAsync(call, "prefix a");
    }

    private async Task AssertNotMappedAsync(RigOptions options)
    {
        ShmRig rig = await StartTopicAsync(rig: options);
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        Topic.Publish(Payloads.Of("a"));
        Topic.Publish(Payloads.Of("b"));

        await AssertNextAsync(call, "a");
        await AssertNextAsync(call, "b");
        Assert.That(rig.Served.Sum(one => one.Connection.PassedTopics!.Count), Is.Zero);
    }

    private sealed class Prefixer : Interceptor
    {
        public override Task ServerStreamingServerHandler<TRequest, TResponse>(
            TRequest request,
            IServerStreamWriter<TResponse> responseStream,
            ServerCallContext context,
            ServerStreamingServerMethod<TRequest, TResponse> continuation) =>
            continuation(request, new Writer<TResponse>(responseStream), context);

        private sealed class Writer<T>(IServerStreamWriter<T> inner) : IServerStreamWriter<T>
        {
            public WriteOptions? WriteOptions
            {
                get => inner.WriteOptions;
                set => inner.WriteOptions = value;
            }

            public Task WriteAsync(T message) =>
                inner.WriteAsync((T)(object)Payloads.Of($"prefix {((Payload)(object)message!).Text()}"));
        }
    }
}
