namespace RpcOverShm.FunctionalTests.Topics;

/// <summary>A method that reads one topic after the other.</summary>
[TestFixture(true)]
[TestFixture(false)]
internal sealed class TwoTopicsTests(bool isMapped) : TopicFixture(isMapped)
{
    private const int Count = 50;

    // What the client says of the first topic must not be taken for the second one.
    [Test]
    public async Task SecondTopic_ThatBeginsBeforeTheFirstIsRead_FollowsIt()
    {
        using var first = new ShmTopic<Payload>(new ShmTopicOptions { Capacity = Capacity, MaxMessages = Count });
        using var second = new ShmTopic<Payload>(new ShmTopicOptions { Capacity = Capacity, MaxMessages = Count });
        ShmRig rig = await StartShmAsync(new Script
        {
            ServerStream = async (_, responses, context) =>
            {
                await first.SubscribeAsync(responses, context);
                await second.SubscribeAsync(responses, context);
            },
        });
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        for (int i = 0; i < Count; i++)
        {
            first.Publish(Payloads.OfSize(1000, (ulong)i));
        }

        first.Dispose();
        if (IsMapped)
        {
            await Timeouts.Eventually(() => second.Subscribers == 1);
        }

        for (int i = 0; i < Count; i++)
        {
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
            Assert.That(call.ResponseStream.Current.IsOfSize(1000, (ulong)i), $"message {i}");
        }

        await Timeouts.Eventually(() => second.Subscribers == 1);
        second.Publish(Payloads.Of("of the second"));
        await AssertNextAsync(call, "of the second");
        second.Dispose();
        Assert.That((await EndOfAsync(call)).StatusCode, Is.EqualTo(StatusCode.OK));
    }
}
