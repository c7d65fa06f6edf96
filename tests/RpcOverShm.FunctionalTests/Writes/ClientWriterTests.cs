namespace RpcOverShm.FunctionalTests.Writes;

[EveryRig]
internal sealed class ClientWriterTests(RigKind kind) : RigFixture(kind)
{
    // Far larger than any window, so that the write waits for the reader.
    private const int Large = 20_000_123;

    [Test]
    [Item("C11")]
    public async Task WriteOfNull_FailsItsTaskAndTheCallLives()
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Exception? exception = await Thrown.InAllAsync(() => call.RequestStream.WriteAsync(null!));

        // Grpc.Core passes null to the marshaller, which throws.
        Assert.That(exception, IsDotNet ? Is.TypeOf<ArgumentNullException>() : Is.TypeOf<NullReferenceException>());
        if (IsDotNet)
        {
            Assert.That(
                await Thrown.ThroughTaskAsync(() => call.RequestStream.WriteAsync(null!)),
                Is.TypeOf<ArgumentNullException>());
            await call.RequestStream.WriteAsync(Payloads.Of("one")).Bounded();
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        }
    }

    [Test]
    [Item("C11")]
    public async Task WriteOrCompleteAsync_WhileAWriteIsUnderWay_ThrowsAndTheFirstGoesOn()
    {
        var mayRead = new TaskCompletionSource();
        CallRig rig = await StartAsync(
            new Script
            {
                ClientStream = async (requests, _) =>
                {
                    await mayRead.Task;
                    await requests.MoveNext(CancellationToken.None);
                    return Payloads.OfSize(requests.Current.Data.Length % 1000);
                },
            },
            RigOptions.AnySize);

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        Task first = call.RequestStream.WriteAsync(Payloads.OfSize(Large));
        Exception? second = await Thrown.InAllAsync(() => call.RequestStream.WriteAsync(Payloads.Empty));
        Exception? completion = await Thrown.InAllAsync(call.RequestStream.CompleteAsync);

        Assert.That(first.IsCompleted, Is.False);
        Assert.That(second, Is.InstanceOf<InvalidOperationException>());
        Assert.That(completion, Is.InstanceOf<InvalidOperationException>());
        if (IsDotNet)
        {
            Assert.That(
                second!.Message, Is.EqualTo("Can't write the message because the previous write is in progress."));
            Assert.That(completion!.Message, Is.EqualTo(
                "Can't complete the client stream writer because the previous write is in progress."));
        }

        mayRead.SetResult();
        await first.Bounded();
        Assert.That((await call.ResponseAsync.Bounded()).Data.Length, Is.EqualTo(Large % 1000));
    }

    [Test]
    [Item("C11")]
    public async Task WriteAfterCompleteAsync_Throws([Values] bool isOver)
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await call.RequestStream.CompleteAsync().Bounded();
        if (isOver)
        {
            await call.ResponseAsync.Bounded();
        }

        Exception? exception = await Thrown.InAllAsync(() => call.RequestStream.WriteAsync(Payloads.Empty));

        Assert.That(exception, Is.InstanceOf<InvalidOperationException>().Or.InstanceOf<RpcException>());
        if (IsDotNet)
        {
            Assert.That(exception, Is.TypeOf<InvalidOperationException>());
            Assert.That(exception!.Message, Is.EqualTo("Request stream has already been completed."));
        }

        Assert.That((await call.ResponseAsync.Bounded()).Data, Is.Empty);
    }

    [Test]
    [Item("C11")]
    public async Task CompleteAsyncTwice_IsFine()
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await call.RequestStream.WriteAsync(Payloads.Of("one")).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        Exception? again = await Thrown.InAllAsync(call.RequestStream.CompleteAsync);
        Payload response = await call.ResponseAsync.Bounded();
        Exception? afterTheEnd = await Thrown.InAllAsync(call.RequestStream.CompleteAsync);

        // Grpc.Core refuses a second completion while the call goes on.
        Assert.That(again, IsDotNet ? Is.Null : Is.TypeOf<InvalidOperationException>());
        Assert.That(afterTheEnd, IsDotNet ? Is.Null : Is.TypeOf<InvalidOperationException>());
        Assert.That(response.Text(), Is.EqualTo("one"));
    }

    [Test]
    [Item("C11")]
    public async Task CompleteAsync_AfterTheCallHasEnded_IsFine([Values] bool isFailing)
    {
        CallRig rig = await StartAsync(EndingEarly(isFailing));

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await Thrown.InAllAsync(() => call.ResponseAsync);
        Exception? exception = await Thrown.InAllAsync(call.RequestStream.CompleteAsync);

        Assert.That(exception, Is.Null);
    }

    [Test]
    [Item("C11")]
    public async Task WriteAfterTheCallHasEnded_FailsWithItsStatus([Values] bool isFailing)
    {
        CallRig rig = await StartAsync(EndingEarly(isFailing));

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await Thrown.InAllAsync(() => call.ResponseAsync);
        RpcException write = await CallFailure.OfWritesAsync(call.RequestStream);

        Assert.That(
            write.Status.Plain(),
            Is.EqualTo(isFailing ? new Status(StatusCode.OutOfRange, "no more") : Status.DefaultSuccess));
    }

    [Test]
    [Item("C11")]
    public async Task WriteOfADuplexCallThatHasEnded_FailsWithItsStatus()
    {
        CallRig rig = await StartAsync(new Script { Duplex = (_, _, _) => Task.CompletedTask });

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
        RpcException write = await CallFailure.OfWritesAsync(call.RequestStream);

        Assert.That(write.Status.Plain(), Is.EqualTo(Status.DefaultSuccess));
    }

    private static Script EndingEarly(bool isFailing) => new()
    {
        ClientStream = (_, _) => isFailing
            ? throw new RpcException(new Status(StatusCode.OutOfRange, "no more"))
            : Task.FromResult(Payloads.Empty),
    };
}
