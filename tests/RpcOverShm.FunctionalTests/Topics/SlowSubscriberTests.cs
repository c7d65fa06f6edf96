namespace RpcOverShm.FunctionalTests.Topics;

/// <summary>
/// Subscribers that read slower than the publisher writes. A message takes some 1,000 bytes of 64 KiB.
/// </summary>
[TestFixture(true)]
[TestFixture(false)]
internal sealed class SlowSubscriberTests(bool isMapped) : TopicFixture(isMapped)
{
    private const int Bytes = 1000;

    // More than the topic and the credit of a stream that is written to hold.
    private const int Many = 1000;

    private static readonly TimeSpan s_short = TimeSpan.FromMilliseconds(100);

    private static RigOptions SmallRings { get; } = new() { RingCapacity = 64 << 10 };

    [Test]
    public async Task PublisherWaits_AndNothingIsLost()
    {
        ShmRig rig = await StartTopicAsync(
            new ShmSubscribeOptions { MaxWait = TimeSpan.FromMinutes(1) }, rig: SmallRings);
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        Task publishing = Task.Run(() => PublishMany(Many));
        Task later = await Task.WhenAny(publishing, Task.Delay(s_short));
        Assert.That(later, Is.Not.SameAs(publishing), "the publisher waits");

        for (int i = 0; i < Many; i++)
        {
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
            Assert.That(call.ResponseStream.Current.IsOfSize(Bytes, (ulong)i), $"message {i}");
        }

        await publishing.Bounded();
    }

    [Test]
    public async Task AsyncPublishers_WaitInTheirOrder()
    {
        ShmRig rig = await StartTopicAsync(
            new ShmSubscribeOptions { MaxWait = TimeSpan.FromMinutes(1) }, rig: SmallRings);
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        Task[] publishing =
            [.. Enumerable.Range(0, Many).Select(i => Topic.PublishAsync(Payloads.OfSize(Bytes, (ulong)i)).AsTask())];
        Assert.That(publishing[^1].IsCompleted, Is.False);

        for (int i = 0; i < Many; i++)
        {
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
            Assert.That(call.ResponseStream.Current.IsOfSize(Bytes, (ulong)i), $"message {i}");
        }

        await Task.WhenAll(publishing).Bounded();
    }

    [Test]
    public async Task OneThatIsWaitedForTooLong_Ends()
    {
        ShmRig rig = await StartTopicAsync(new ShmSubscribeOptions { MaxWait = s_short }, rig: SmallRings);
        AsyncServerStreamingCall<Payload> slow = await SubscribeAsync(OpenChannel(rig));
        await Task.Run(() => PublishMany(Many)).Bounded();

        Assert.That((await EndOfAsync(slow)).StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        await Timeouts.Eventually(() => Topic.Subscribers == 0);
    }

    [Test]
    public async Task OneThatReadsALittleAtATime_DoesNotHoldThePublisherForEver()
    {
        ShmRig rig = await StartTopicAsync(
            new ShmSubscribeOptions { MaxWait = TimeSpan.FromMilliseconds(500) }, rig: SmallRings);
        AsyncServerStreamingCall<Payload> slow = await SubscribeAsync(OpenChannel(rig));
        Task publishing = Task.Run(() => PublishMany(10 * Many));
        int read = 0;
        try
        {
            while (await slow.ResponseStream.MoveNext(CancellationToken.None).Bounded())
            {
                read++;
                await Task.Delay(20);
            }
        }
        catch (RpcException)
        {
            // It is too slow.
        }

        Assert.That(slow.GetStatus().StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(read, Is.InRange(1, Many));
        await publishing.Bounded();
    }

    [Test]
    public async Task SlowOne_CostsNoOtherAnything()
    {
        ShmRig rig = await StartTopicAsync(
            new ShmSubscribeOptions { SlowSubscriber = ShmSlowSubscriber.Skip }, rig: SmallRings);
        ShmChannel channel = OpenChannel(rig);
        AsyncServerStreamingCall<Payload> stopped = await SubscribeAsync(channel);
        AsyncServerStreamingCall<Payload> quick = await SubscribeAsync(channel);
        for (int i = 0; i < Many; i++)
        {
            Topic.Publish(Payloads.OfSize(Bytes, (ulong)i));
            Assert.That(await quick.ResponseStream.MoveNext(CancellationToken.None).Bounded());
            Assert.That(quick.ResponseStream.Current.IsOfSize(Bytes, (ulong)i), $"message {i}");
        }

        Topic.Dispose();
        Assert.That(await quick.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
        Assert.That((await EndOfAsync(stopped)).StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task OneThatSkips_KnowsWhatItMissed()
    {
        ShmRig rig = await StartTopicAsync(
            new ShmSubscribeOptions { SlowSubscriber = ShmSlowSubscriber.Skip }, rig: SmallRings);
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        await Task.Run(() => PublishMany(Many)).Bounded();
        Topic.Dispose();

        long next = 0;
        long missed = 0;
        int read = 0;
        while (await call.ResponseStream.MoveNext(CancellationToken.None).Bounded())
        {
            long number = Enumerable.Range((int)next, Many - (int)next)
                .First(i => call.ResponseStream.Current.IsOfSize(Bytes, (ulong)i));
            missed += number - next;
            next = number + 1;
            read++;
            if (IsMapped)
            {
                Assert.That(call.ResponseStream.GetSkippedMessages(), Is.EqualTo(missed));
            }
        }

        Assert.That(next, Is.EqualTo(Many), "the newest is not missed");
        Assert.That(missed, Is.Positive);
        Assert.That(read + missed, Is.EqualTo(Many));
        Assert.That(call.GetTrailers().GetValue("rpcovershm-topic-skipped"), Is.EqualTo($"{missed}"));
    }

    [Test]
    public async Task OneThatMayNotMissAnything_Ends()
    {
        ShmRig rig = await StartTopicAsync(
            new ShmSubscribeOptions { SlowSubscriber = ShmSlowSubscriber.End }, rig: SmallRings);
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        await Task.Run(() => PublishMany(Many)).Bounded();

        Status end = await EndOfAsync(call);

        Assert.That(end.StatusCode, Is.EqualTo(StatusCode.DataLoss));
        Assert.That(end.Detail, Does.Match(@"\d+ messages are lost"));
        await Timeouts.Eventually(() => Topic.Subscribers == 0);
    }

    [Test]
    public async Task EndOfTheTopic_FreesAPublisherThatWaits()
    {
        ShmRig rig = await StartTopicAsync(
            new ShmSubscribeOptions { MaxWait = TimeSpan.FromMinutes(1) }, rig: SmallRings);
        using AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        Task publishing = Task.Run(() => PublishMany(Many));
        Task later = await Task.WhenAny(publishing, Task.Delay(s_short));
        Assert.That(later, Is.Not.SameAs(publishing), "the publisher waits");

        Topic.Dispose();

        Assert.That(async () => await publishing.Bounded(), Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public async Task CancelledPublisher_WaitsNoLonger()
    {
        ShmRig rig = await StartTopicAsync(
            new ShmSubscribeOptions { MaxWait = TimeSpan.FromMinutes(1) }, rig: SmallRings);
        using AsyncServerStreamingCall<Payload> call = await SubscribeAsync(OpenChannel(rig));
        using var cancellation = new CancellationTokenSource();
        Task publishing = Topic.PublishAsync(
            Enumerable.Range(0, Many).Select(i => Payloads.OfSize(Bytes, (ulong)i)), cancellation.Token).AsTask();
        Assert.That(publishing.IsCompleted, Is.False);

        await cancellation.CancelAsync();

        Assert.That(async () => await publishing.Bounded(), Throws.InstanceOf<OperationCanceledException>());
        call.Dispose();
        await Timeouts.Eventually(() => Topic.Subscribers == 0);
        Topic.Publish(Payloads.Empty);
    }

    [Test]
    public async Task SubscriberThatLeaves_FreesAPublisherThatWaits()
    {
        ShmRig rig = await StartTopicAsync(
            new ShmSubscribeOptions { MaxWait = TimeSpan.FromMinutes(1) }, rig: SmallRings);
        ShmChannel channel = OpenChannel(rig);
        AsyncServerStreamingCall<Payload> call = await SubscribeAsync(channel);
        Task publishing = Task.Run(() => PublishMany(Many));
        Task later = await Task.WhenAny(publishing, Task.Delay(s_short));
        Assert.That(later, Is.Not.SameAs(publishing), "the publisher waits");

        await channel.ShutdownAsync().Bounded();

        await publishing.Bounded();
        GC.KeepAlive(call);
    }

    private void PublishMany(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Topic.Publish(Payloads.OfSize(Bytes, (ulong)i));
        }
    }
}
