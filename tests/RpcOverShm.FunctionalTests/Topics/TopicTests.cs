namespace RpcOverShm.FunctionalTests.Topics;

[TestFixture(true)]
[TestFixture(false)]
internal sealed class TopicTests(bool isMapped) : TopicFixture(isMapped)
{
    private const int LimitReached = 109;

    [Test]
    public async Task Messages_ReachAllSubscribers()
    {
        ShmRig rig = await StartTopicAsync();
        ShmChannel channel = OpenChannel(rig);
        ShmChannel other = OpenChannel(rig);
        AsyncServerStreamingCall<Payload>[] calls =
        [
            await SubscribeAsync(channel), await SubscribeAsync(channel), await SubscribeAsync(other),
        ];
        Assert.That(Topic.Subscribers, Is.EqualTo(3));

        Topic.Publish(Payloads.Of("a"));
        await Topic.PublishAsync(Payloads.Of("b"));
        Topic.Publish([Payloads.Of("c"), Payloads.Of("d")]);
        await Topic.PublishAsync([Payloads.Of("e")]);

        foreach (AsyncServerStreamingCall<Payload> call in calls)
        {
            foreach (string text in new[] { "a", "b", "c", "d", "e" })
            {
                await AssertNextAsync(call, text);
            }
        }

        Assert.That(rig.Served.Count(one => one.Connection.PassedTopics?.Count > 0), Is.EqualTo(IsMapped ? 2 : 0));
    }

    [Test]
    public async Task End_FollowsAllMessages()
    {
        ShmRig rig = await StartTopicAsync();
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        for (int i = 0; i < 20; i++)
        {
            Topic.Publish(Payloads.Of($"{i}"));
        }

        Topic.Dispose();

        List<Payload> all = await call.ResponseStream.ToListAsync();
        Assert.That(all.Select(Payloads.Text), Is.EqualTo(Enumerable.Range(0, 20).Select(i => $"{i}")));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(() => Topic.Publish(Payloads.Empty), Throws.TypeOf<ObjectDisposedException>());
        await Timeouts.Eventually(() => Topic.Subscribers == 0);
    }

    [Test]
    public async Task Completion_HasAStatus()
    {
        ShmRig rig = await StartTopicAsync();
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        Topic.Publish(Payloads.Of("last"));
        Topic.Complete(new Status(StatusCode.Aborted, "closed for today"));

        await AssertNextAsync(call, "last");
        Assert.That(await EndOfAsync(call), Is.EqualTo(new Status(StatusCode.Aborted, "closed for today"))
            .Using<Status>((x, y) => x.StatusCode == y.StatusCode && x.Detail == y.Detail ? 0 : 1));
    }

    [Test]
    public async Task Cancellation_EndsTheSubscription()
    {
        ShmRig rig = await StartTopicAsync();
        ShmChannel channel = OpenChannel(rig);
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(channel);
        AsyncServerStreamingCall<Payload> other = await SubscribeAsync(channel);
        Task<bool> read = call.ResponseStream.MoveNext(CancellationToken.None);
        call.Dispose();

        Assert.That((await FailureOf(read)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        await Timeouts.Eventually(() => Topic.Subscribers == 1);
        Topic.Publish(Payloads.Of("on"));
        await AssertNextAsync(other, "on");
    }

    [Test]
    public async Task Deadline_EndsTheSubscription()
    {
        ShmRig rig = await StartTopicAsync();
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(
            OpenChannel(rig), new CallOptions(deadline: DateTime.UtcNow.AddSeconds(0.5)));

        Assert.That((await EndOfAsync(call)).StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        await Timeouts.Eventually(() => Topic.Subscribers == 0);
    }

    [Test]
    public async Task Messages_OfAllSizes_ComeUnchanged()
    {
        ShmRig rig = await StartTopicAsync(topic: new ShmTopicOptions { Capacity = 1 << 20 });
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        int[] sizes = [0, 1, 15, 16, 17, 1000, 4096, 70_000, 3, 200_000, 262_000, 5];
        Task publishing = Task.Run(() =>
        {
            for (int i = 0; i < 200; i++)
            {
                Topic.Publish(Payloads.OfSize(sizes[i % sizes.Length], (ulong)i));
            }

            Topic.Dispose();
        });
        int read = 0;
        while (await call.ResponseStream.MoveNext(CancellationToken.None).Bounded())
        {
            Assert.That(call.ResponseStream.Current.IsOfSize(sizes[read % sizes.Length], (ulong)read));
            read++;
        }

        await publishing.Bounded();
        Assert.That(read, Is.EqualTo(200));
    }

    [Test]
    public async Task MessagesThatTheMethodWrites_KeepTheirOrder()
    {
        using var topic = new ShmTopic<Payload>();
        ShmRig rig = await StartShmAsync(new Script
        {
            ServerStream = async (_, responses, context) =>
            {
                await responses.WriteAsync(Payloads.Of("before"));
                await topic.SubscribeAsync(responses, context);
                await responses.WriteAsync(Payloads.Of("after"));
            },
        });
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        await Timeouts.Eventually(() => topic.Subscribers == 1);
        topic.Publish(Payloads.Of("of the topic"));
        topic.Dispose();

        List<Payload> all = await call.ResponseStream.ToListAsync();
        Assert.That(all.Select(Payloads.Text), Is.EqualTo(new[] { "before", "of the topic", "after" }));
    }

    [Test]
    public async Task Oldest_IsWhatTheTopicHolds()
    {
        ShmRig rig = await StartTopicAsync(new ShmSubscribeOptions { Start = ShmTopicStart.Oldest });
        ShmChannel channel = OpenChannel(rig);
        Topic.Publish(Payloads.Of("before anybody listens"));
        AsyncServerStreamingCall<Payload> first = await SubscribeAsync(channel);
        Topic.Publish(Payloads.Of("a"));
        AsyncServerStreamingCall<Payload> second = await SubscribeAsync(channel);
        Topic.Publish(Payloads.Of("b"));

        foreach (AsyncServerStreamingCall<Payload> call in new[] { first, second })
        {
            await AssertNextAsync(call, "a");
            await AssertNextAsync(call, "b");
        }
    }

    [Test]
    public async Task SubscriberBeyondTheLimit_IsRefused()
    {
        ShmRig rig = await StartTopicAsync(
            topic: new ShmTopicOptions { Capacity = Capacity, MaxMessages = 64, MaxSubscribers = 1 });
        ShmChannel channel = OpenChannel(rig);
        AsyncServerStreamingCall<Payload> first = await SubscribeAsync(channel);
        using AsyncServerStreamingCall<Payload> second = channel.CreateCallInvoker()
            .AsyncServerStreamingCall(Script.ServerStreamMethod, null, default, Payloads.Empty);

        Status end = await EndOfAsync(second);

        Assert.That(end.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(end.Detail, Does.Contain("ShmTopicOptions.MaxSubscribers"));
        rig.Log.Expect(LimitReached);
        first.Dispose();
        await Timeouts.Eventually(() => Topic.Subscribers == 0);
        AsyncServerStreamingCall<Payload> third = await SubscribeAsync(channel);
        Topic.Publish(Payloads.Of("on"));
        await AssertNextAsync(third, "on");
    }

    [Test]
    public async Task ManyWaitingReaders_OfOneConnection_AllGetEachMessage()
    {
        const int Readers = 20;
        const int Messages = 500;
        ShmRig rig = await StartTopicAsync(new ShmSubscribeOptions { MaxWait = TimeSpan.FromMinutes(1) });
        ShmChannel channel = OpenChannel(rig);
        var calls = new List<AsyncServerStreamingCall<Payload>>();
        for (int i = 0; i < Readers; i++)
        {
            calls.Add(await SubscribeAsync(channel));
        }

        Task<int>[] reading = [.. calls.Select(ReadInOrderAsync)];
        for (int i = 0; i < Messages; i++)
        {
            await Topic.PublishAsync(Payloads.Of($"{i}"));
            if (i % 10 == 0)
            {
                await Task.Yield();
            }
        }

        Topic.Dispose();
        Assert.That(await Task.WhenAll(reading).Bounded(), Is.All.EqualTo(Messages));
    }

    [Test]
    public async Task SecondMessageOfATopicThatNobodyReads_IsForgotten()
    {
        ShmRig rig = await StartTopicAsync(new ShmSubscribeOptions { Start = ShmTopicStart.Oldest });
        ShmChannel channel = OpenChannel(rig);
        AsyncServerStreamingCall<Payload> first = await SubscribeAsync(channel);
        Topic.Publish(Payloads.Of("a"));
        await AssertNextAsync(first, "a");
        first.Dispose();
        await Timeouts.Eventually(() => Topic.Subscribers == 0);
        Topic.Publish(Payloads.Of("to nobody"));

        AsyncServerStreamingCall<Payload> second = await SubscribeAsync(channel);
        Topic.Publish(Payloads.Of("b"));

        await AssertNextAsync(second, "b");
    }

    [Test]
    public async Task MessageThatIsTooLarge_IsRefusedAtThePublisher()
    {
        ShmRig rig = await StartTopicAsync(rig: new RigOptions { ServerMaxSend = 10_000 });
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        if (IsMapped)
        {
            var problem = Assert.Throws<RpcException>(() => Topic.Publish(Payloads.OfSize(20_000)));
            Assert.That(problem!.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
            Topic.Publish(Payloads.Of("on"));
            await AssertNextAsync(call, "on");
        }
        else
        {
            Topic.Publish(Payloads.OfSize(20_000));
            Assert.That((await EndOfAsync(call)).StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
            rig.Log.Expect(301);
        }
    }

    private static async Task<int> ReadInOrderAsync(AsyncServerStreamingCall<Payload> call)
    {
        int read = 0;
        while (await call.ResponseStream.MoveNext(CancellationToken.None).Bounded())
        {
            Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo($"{read}"));
            read++;
        }

        return read;
    }
}
