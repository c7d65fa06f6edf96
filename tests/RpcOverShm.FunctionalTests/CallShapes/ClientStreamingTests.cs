namespace RpcOverShm.FunctionalTests.CallShapes;

[EveryRig]
internal sealed class ClientStreamingTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task Requests_Many_AreAddedUp()
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));

        using AsyncClientStreamingCall<Number, Number> call = rig.Conformance.Sum();
        for (int i = 1; i <= 1000; i++)
        {
            await call.RequestStream.WriteAsync(new Number { Value = i }).Bounded();
        }

        await call.RequestStream.CompleteAsync().Bounded();
        Number sum = await call.ResponseAsync.Bounded();

        Assert.That(sum.Value, Is.EqualTo(500_500));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task Requests_None_IsACall()
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));

        using AsyncClientStreamingCall<Number, Number> call = rig.Conformance.Sum();
        await call.RequestStream.CompleteAsync().Bounded();

        Assert.That((await call.ResponseAsync.Bounded()).Value, Is.Zero);
    }

    [Test]
    public async Task Requests_OfManySizes_AreByteForByteTheSame()
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));
        var pattern = new BytePattern(0);
        int[] sizes = MixedSizes;

        using AsyncClientStreamingCall<Payload, DrainReply> call = rig.Conformance.Drain();
        foreach (int size in sizes)
        {
            byte[] data = new byte[size];
            pattern.Fill(data);
            await call.RequestStream.WriteAsync(
                new Payload { Data = Google.Protobuf.ByteString.CopyFrom(data) }).Bounded();
        }

        await call.RequestStream.CompleteAsync().Bounded();
        DrainReply reply = await call.ResponseAsync.Bounded();

        Assert.That(reply.Messages, Is.EqualTo(sizes.Length));
        Assert.That(reply.Bytes, Is.EqualTo(sizes.Sum()));
        Assert.That(reply.WrongBytes, Is.Zero);
    }

    [Test]
    public async Task Request_ReachesTheHandler_BeforeTheNextIsWritten()
    {
        var first = new TaskCompletionSource<string>();
        CallRig rig = await StartAsync(new Script
        {
            ClientStream = async (requests, _) =>
            {
                await requests.MoveNext(CancellationToken.None);
                first.SetResult(requests.Current.Text());
                await requests.MoveNext(CancellationToken.None);
                return requests.Current;
            },
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await call.RequestStream.WriteAsync(Payloads.Of("one")).Bounded();

        Assert.That(await first.Task.Bounded(), Is.EqualTo("one"));
        await call.RequestStream.WriteAsync(Payloads.Of("two")).Bounded();
        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("two"));
    }
}
