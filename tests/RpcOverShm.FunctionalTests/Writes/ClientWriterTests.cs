namespace RpcOverShm.FunctionalTests.Writes;

[EveryRig]
internal sealed class ClientWriterTests(RigKind kind) : RigFixture(kind)
{
    // Far larger than any window, so that the write waits for the reader.
    private const int Large = 20_000_123;

    private static readonly Status s_noMore = new(StatusCode.OutOfRange, "no more");

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
            Is.EqualTo(isFailing ? s_noMore : Status.DefaultSuccess));
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

    [Test]
    [Item("C11")]
    public async Task WritesAndReadOfADuplexCall_ThatEndsMeanwhile_FailWithItsStatus()
    {
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await StartAsync(EndingAfterResponses(1, mayEnd.Task));

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Task<bool> read = call.ResponseStream.MoveNext(CancellationToken.None);
        Task<RpcException> write = CallFailure.OfWritesAsync(call.RequestStream);
        mayEnd.SetResult();

        Assert.That((await FailureOf(read)).Status.Plain(), Is.EqualTo(s_noMore));

        // A write that meets the end is Cancelled in grpc-dotnet.
        Status end = (await write).Status.Plain();
        Assert.That(
            end.StatusCode,
            Is.EqualTo(s_noMore.StatusCode).Or.EqualTo(IsGrpcDotNet ? StatusCode.Cancelled : s_noMore.StatusCode));
    }

    [Test]
    [Item("C11")]
    [NotOn(RigKind.GrpcCore, "a write after the end completes only when the responses have been read")]
    public async Task WritesOfADuplexCall_ThatHasEnded_LoseNoUnreadResponse()
    {
        const int Responses = 3;
        CallRig rig = await StartAsync(EndingAfterResponses(Responses, Task.CompletedTask));

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        for (int i = 0; i < 10; i++)
        {
            await Thrown.InAllAsync(() => call.RequestStream.WriteAsync(Payloads.Of("too late")));
        }

        for (int i = 1; i < Responses; i++)
        {
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        }

        RpcException end = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));
        Assert.That(end.Status.Plain(), Is.EqualTo(s_noMore));
    }

    private static Script EndingAfterResponses(int count, Task mayEnd) => new()
    {
        Duplex = async (_, responses, _) =>
        {
            for (int i = 0; i < count; i++)
            {
                await responses.WriteAsync(Payloads.Of("one"));
            }

            await mayEnd;
            throw new RpcException(s_noMore);
        },
    };

    private static Script EndingEarly(bool isFailing) => new()
    {
        ClientStream = (_, _) => isFailing
            ? throw new RpcException(s_noMore)
            : Task.FromResult(Payloads.Empty),
    };
}
