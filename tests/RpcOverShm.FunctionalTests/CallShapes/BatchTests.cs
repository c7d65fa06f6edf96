namespace RpcOverShm.FunctionalTests.CallShapes;

internal sealed class BatchTests() : RigFixture(RigKind.Shm)
{
    private const string Hold = "hold";

    private ShmCallBatch? _batch;

    [TearDown]
    public void DisposeBatch() => _batch?.Dispose();

    [TestCase(1, 64 << 10)]
    [TestCase(300, 64 << 10)]
    [TestCase(2000, 64 << 10)]
    [TestCase(2000, 4 << 20)]
    public async Task Send_OfManyCalls_AnswersEach(int calls, int ring)
    {
        (ShmCallBatch batch, ScriptClient client) = await OpenAsync(
            new Script(), new RigOptions { RingCapacity = ring });
        AsyncUnaryCall<Payload>[] recorded =
            [.. Enumerable.Range(0, calls).Select(i => client.UnaryAsync(Payloads.OfSize(i, (ulong)i)))];

        await batch.SendAsync().Bounded();

        for (int i = 0; i < calls; i++)
        {
            Assert.That((await recorded[i].ResponseAsync.Bounded()).IsOfSize(i, (ulong)i), $"call {i}");
        }
    }

    [Test]
    public async Task Send_OfMessagesOfAllSizes_AnswersEach()
    {
        int[] sizes = [0, 1, 16 << 10, (16 << 10) + 1, 1_000_000, 5, 3_000_000, 100_000];
        (ShmCallBatch batch, ScriptClient client) = await OpenAsync(
            new Script(), RigOptions.AnySize with { RingCapacity = 64 << 10 });
        AsyncUnaryCall<Payload>[] recorded = [.. sizes.Select(size => client.UnaryAsync(Payloads.OfSize(size)))];

        await batch.SendAsync().Bounded();

        Payload[] responses = await Task.WhenAll(recorded.Select(call => call.ResponseAsync)).Bounded();
        Assert.That(responses.Zip(sizes, (response, size) => response.IsOfSize(size)), Is.All.True);
    }

    [Test]
    public async Task Calls_OfABatch_EndEachByItself()
    {
        (ShmCallBatch batch, ScriptClient client) = await OpenAsync(HoldingScript());
        using var cancel = new CancellationTokenSource();
        AsyncUnaryCall<Payload> plain = client.UnaryAsync(Payloads.Of("plain"));
        AsyncUnaryCall<Payload> failing = client.UnaryAsync(Payloads.Of("fail"));
        AsyncUnaryCall<Payload> late = client.UnaryAsync(
            Payloads.Of(Hold), new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(200)));
        AsyncUnaryCall<Payload> cancelled = client.UnaryAsync(
            Payloads.Of(Hold), new CallOptions(cancellationToken: cancel.Token));
        AsyncUnaryCall<Payload> unsendable = client.UnaryAsync(
            Payloads.Empty, new CallOptions(new Metadata { { "big", new string('x', 100_000) } }));
        AsyncUnaryCall<Payload> last = client.UnaryAsync(Payloads.Of("last"));

        await batch.SendAsync().Bounded();
        Assert.That((await last.ResponseAsync.Bounded()).Text(), Is.EqualTo("last"));
        await cancel.CancelAsync();

        Assert.That((await plain.ResponseAsync.Bounded()).Text(), Is.EqualTo("plain"));
        Assert.That((await FailureOf(failing)).Status.Plain(), Is.EqualTo(new Status(StatusCode.DataLoss, "as asked")));
        Assert.That((await FailureOf(late)).StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That((await FailureOf(cancelled)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That((await FailureOf(unsendable)).StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(plain.GetTrailers(), Is.Empty);
    }

    [Test]
    public async Task Metadata_OfEachCall_IsItsOwn()
    {
        (ShmCallBatch batch, ScriptClient client) = await OpenAsync(new Script
        {
            Unary = (_, context) => Task.FromResult(Payloads.Of(context.RequestHeaders.GetValue("number") ?? "none")),
        });
        AsyncUnaryCall<Payload>[] recorded = [.. Enumerable.Range(0, 50).Select(i => client.UnaryAsync(
            Payloads.Empty, new CallOptions(i % 5 == 0 ? null : new Metadata { { "number", $"{i}" } })))];

        await batch.SendAsync().Bounded();

        Payload[] responses = await Task.WhenAll(recorded.Select(call => call.ResponseAsync)).Bounded();
        Assert.That(
            responses.Select(response => response.Text()),
            Is.EqualTo(Enumerable.Range(0, 50).Select(i => i % 5 == 0 ? "none" : $"{i}")));
    }

    [Test]
    public async Task FirstCall_OfABatch_RunsBeforeItIsSent()
    {
        (ShmCallBatch batch, ScriptClient client) = await OpenAsync(HoldingScript());

        AsyncUnaryCall<Payload> first = client.UnaryAsync(Payloads.Of("first"));
        Assert.That((await first.ResponseAsync.Bounded()).Text(), Is.EqualTo("first"));
        AsyncUnaryCall<Payload> second = client.UnaryAsync(Payloads.Of("second"));
        await batch.SendAsync().Bounded();

        Assert.That((await second.ResponseAsync.Bounded()).Text(), Is.EqualTo("second"));
    }

    [Test]
    public async Task Deadline_OfARecordedCall_RunsFromTheRecording()
    {
        (ShmCallBatch batch, ScriptClient client) = await OpenAsync(HoldingScript());
        AsyncUnaryCall<Payload> other = client.UnaryAsync(Payloads.Of("other"));
        AsyncUnaryCall<Payload> expired = client.UnaryAsync(
            Payloads.Of(Hold), new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(20)));
        Assert.That(
            (await FailureOf(expired)).StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded), "before it was sent");

        await batch.SendAsync().Bounded();

        await other.ResponseAsync.Bounded();
    }

    [Test]
    public async Task Recording_FromManyThreads_LosesNothing()
    {
        (ShmCallBatch batch, ScriptClient client) = await OpenAsync(new Script());
        AsyncUnaryCall<Payload>[][] recorded = await Task.WhenAll(Enumerable.Range(0, 8).Select(thread =>
            Timeouts.OnThread(() => Enumerable.Range(0, 250).Select(i =>
                client.UnaryAsync(Payloads.OfSize(i, (ulong)thread))).ToArray()))).Bounded();

        await batch.SendAsync().Bounded();

        for (int thread = 0; thread < recorded.Length; thread++)
        {
            Payload[] responses = await Task.WhenAll(recorded[thread].Select(call => call.ResponseAsync)).Bounded();
            Assert.That(responses.Select((response, i) => response.IsOfSize(i, (ulong)thread)), Is.All.True);
        }
    }

    [Test]
    public async Task OtherShapes_OnABatch_AreRefusedAtOnce()
    {
        (ShmCallBatch batch, ScriptClient client) = await OpenAsync(new Script());

        Assert.That(
            () => client.Unary(Payloads.Empty), Throws.InvalidOperationException.With.Message.Contains("batch"));
        Assert.That(() => client.ServerStream(Payloads.Empty), Throws.InvalidOperationException);
        Assert.That(() => client.ClientStream(), Throws.InvalidOperationException);
        Assert.That(() => client.Duplex(), Throws.InvalidOperationException);
    }

    [Test]
    public async Task Batch_OnceSent_TakesNoMoreAndIsNotSentAgain()
    {
        (ShmCallBatch batch, ScriptClient client) = await OpenAsync(new Script());
        AsyncUnaryCall<Payload> call = client.UnaryAsync(Payloads.Of("one"));
        await batch.SendAsync().Bounded();

        Assert.That(() => client.UnaryAsync(Payloads.Empty), Throws.InvalidOperationException);
        Assert.ThrowsAsync<InvalidOperationException>(() => batch.SendAsync());
        batch.Dispose();
        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("one"));
    }

    [Test]
    public async Task Dispose_OfAnUnsentBatch_CancelsWhatHasNotEnded()
    {
        ShmRig rig = await StartShmAsync(HoldingScript());
        ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);
        AsyncUnaryCall<Payload> ended = client.UnaryAsync(Payloads.Of("ended"));
        await ended.ResponseAsync.Bounded();
        AsyncUnaryCall<Payload> running = client.UnaryAsync(Payloads.Of(Hold));

        batch.Dispose();

        Assert.That((await FailureOf(running)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(ended.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
        await Timeouts.Eventually(() => rig.Served.Single().PendingOrRunning == 0, "the method hears of it");
        Assert.ThrowsAsync<InvalidOperationException>(() => batch.SendAsync());
    }

    [Test]
    public async Task Send_OfNothing_DoesNothing()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();

        await batch.SendAsync().Bounded();

        Assert.That(rig.Served, Is.Empty);
    }

    [Test]
    public async Task Send_WithoutAServer_EndsEveryCallUnavailable()
    {
        ShmRig rig = await StartShmAsync(new Script());
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();
        using ShmCallBatch batch = rig.ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);
        AsyncUnaryCall<Payload>[] recorded =
        [
            .. Enumerable.Range(0, 10).Select(_ => client.UnaryAsync(Payloads.Empty)),
        ];

        await batch.SendAsync().Bounded();

        foreach (AsyncUnaryCall<Payload> call in recorded)
        {
            Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        }
    }

    [Test]
    public async Task CreateBatch_OfAShutDownChannel_Throws()
    {
        ShmRig rig = await StartShmAsync(new Script());
        await rig.ShmChannel.ShutdownAsync().Bounded();

        Assert.That(() => rig.ShmChannel.CreateBatch(), Throws.TypeOf<ObjectDisposedException>());
    }

    private async Task<(ShmCallBatch Batch, ScriptClient Client)> OpenAsync(Script script, RigOptions? options = null)
    {
        ShmRig rig = await StartShmAsync(script, options);
        _batch = rig.ShmChannel.CreateBatch();
        return (_batch, new ScriptClient(_batch.CallInvoker));
    }

    private static Script HoldingScript() => new()
    {
        Unary = async (request, context) => request.Text() switch
        {
            Hold => await HoldAsync(context),
            "fail" => throw new RpcException(new Status(StatusCode.DataLoss, "as asked")),
            _ => request,
        },
    };

    private static async Task<Payload> HoldAsync(ServerCallContext context)
    {
        await Task.Delay(Timeout.Infinite, context.CancellationToken);
        return Payloads.Empty;
    }
}
