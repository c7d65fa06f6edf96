namespace RpcOverShm.FunctionalTests.Writes;

/// <summary>Results of writes that race with the end of their call.</summary>
internal sealed class WriteResultTests() : RigFixture(RigKind.Shm)
{
    private const int Calls = 500;

    // Several records, so that another thread than the writer completes the write.
    private const int Bytes = 100_123;

    // The response may arrive before the write returns, which must not fail the write.
    [Test]
    public async Task ClientWrite_OfTheMessageThatEndsTheCall_Succeeds()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            ClientStream = async (requests, _) =>
            {
                await requests.MoveNext(CancellationToken.None);
                return Payloads.OfSize(requests.Current.Data.Length % 1000);
            },
        });

        var message = Payloads.OfSize(Bytes);
        for (int i = 0; i < Calls; i++)
        {
            using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
            await call.RequestStream.WriteAsync(message).Bounded();
            Assert.That((await call.ResponseAsync.Bounded()).Data.Length, Is.EqualTo(Bytes % 1000));
        }
    }

    [Test]
    public async Task HandlerWrite_OfTheMessageAfterWhichTheClientLeaves_Succeeds()
    {
        int failed = 0;
        int ended = 0;
        ShmRig rig = await StartShmAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                try
                {
                    await responses.WriteAsync(request);
                }
                catch (Exception)
                {
                    Interlocked.Increment(ref failed);
                }

                Interlocked.Increment(ref ended);
            },
        });

        var message = Payloads.OfSize(Bytes);
        for (int i = 0; i < Calls; i++)
        {
            using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(message);
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        }

        await Timeouts.Eventually(() => Volatile.Read(ref ended) == Calls);
        Assert.That(failed, Is.Zero);
    }
}
