namespace RpcOverShm.FunctionalTests.Topics;

/// <summary>The same method in ASP.NET Core.</summary>
[Category(LongAttribute.Name)]
internal sealed class AspNetTopicTests() : RigFixture(RigKind.GrpcDotNet)
{
    [Test]
    public async Task Messages_OfATopic_ReachClientsOfAnotherTransport()
    {
        using var topic = new ShmTopic<Payload>();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = (_, responses, context) => topic.SubscribeAsync(responses, context),
        });
        using AsyncServerStreamingCall<Payload> call = rig.Invoker.AsyncServerStreamingCall(
            Script.ServerStreamMethod, null, default, Payloads.Empty);
        await call.ResponseHeadersAsync.Bounded();
        for (int i = 0; i < 100; i++)
        {
            await topic.PublishAsync(Payloads.Of($"{i}"));
        }

        topic.Dispose();

        List<Payload> all = await call.ResponseStream.ToListAsync();
        Assert.That(all.Select(Payloads.Text), Is.EqualTo(Enumerable.Range(0, 100).Select(i => $"{i}")));
    }
}
