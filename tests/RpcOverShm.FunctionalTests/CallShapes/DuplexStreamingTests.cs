namespace RpcOverShm.FunctionalTests.CallShapes;

[EveryRig]
internal sealed class DuplexStreamingTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task PingPong_ManyTimes_AnswersEach()
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        for (int i = 0; i < 500; i++)
        {
            await call.RequestStream.WriteAsync(Payloads.OfSize(i, (ulong)i)).Bounded();
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
            Assert.That(call.ResponseStream.Current.IsOfSize(i, (ulong)i));
        }

        await call.RequestStream.CompleteAsync().Bounded();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task BothDirections_AtOnce_DoNotWaitForEachOther()
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Task writing = Task.Run(async () =>
        {
            for (int i = 0; i < 300; i++)
            {
                await call.RequestStream.WriteAsync(Payloads.OfSize(20_000, (ulong)i));
            }

            await call.RequestStream.CompleteAsync();
        });
        List<Payload> responses = await call.ResponseStream.ToListAsync();
        await writing.Bounded();

        Assert.That(responses, Has.Count.EqualTo(300));
        Assert.That(responses.Select((response, i) => response.IsOfSize(20_000, (ulong)i)), Is.All.True);
    }

    [Test]
    public async Task Server_MaySpeakFirst()
    {
        CallRig rig = await StartAsync(new Script
        {
            Duplex = async (requests, responses, _) =>
            {
                await responses.WriteAsync(Payloads.Of("hello"));
                await requests.MoveNext(CancellationToken.None);
                await responses.WriteAsync(requests.Current);
            },
        });

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo("hello"));
        await call.RequestStream.WriteAsync(Payloads.Of("back")).Bounded();

        Assert.That((await call.ResponseStream.ToListAsync()).Single().Text(), Is.EqualTo("back"));
    }

    [Test]
    public async Task HalfClose_LeavesTheOtherDirectionOpen()
    {
        CallRig rig = await StartAsync(new Script
        {
            Duplex = async (requests, responses, _) =>
            {
                int count = 0;
                while (await requests.MoveNext(CancellationToken.None))
                {
                    count++;
                }

                for (int i = 0; i < 100; i++)
                {
                    await responses.WriteAsync(Payloads.OfSize(count));
                }
            },
        });

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        await call.RequestStream.WriteAsync(Payloads.Empty).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        List<Payload> responses = await call.ResponseStream.ToListAsync();

        Assert.That(responses, Has.Count.EqualTo(100));
        Assert.That(responses.Select(response => response.Data.Length), Is.All.EqualTo(1));
    }
}
