namespace RpcOverShm.FunctionalTests.Writes;

/// <summary>
/// Awaited writes with BufferHint. Shared memory only: here a write completes when it is accepted. In Grpc.Core a
/// hinted write completes only after a later one, which an awaiting method never starts.
/// </summary>
internal sealed class ServerHintTests() : ItemFixture(RigKind.Shm)
{
    [Test]
    [Item("S17")]
    public async Task HintedWrites_ArriveInOrderWithTheNextUnhintedOne()
    {
        CallRig rig = await UseAsync(HintingScript(Task.CompletedTask));

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        List<Payload> responses = await call.ResponseStream.ToListAsync();

        Assert.That(responses.Select(response => response.Text()), Is.EqualTo(new[] { "1", "2", "3", "last" }));
    }

    [Test]
    [Item("S17")]
    public async Task HintedWrites_ThatNothingFollows_AreNotDelayedForEver()
    {
        var mayGoOn = new TaskCompletionSource();
        CallRig rig = await UseAsync(HintingScript(mayGoOn.Task));

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        for (int i = 1; i <= 3; i++)
        {
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
            Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo($"{i}"));
        }

        mayGoOn.SetResult();
        Assert.That((await call.ResponseStream.ToListAsync()).Single().Text(), Is.EqualTo("last"));
    }

    private static Script HintingScript(Task mayGoOn) => new()
    {
        ServerStream = async (_, responses, _) =>
        {
            responses.WriteOptions = new WriteOptions(WriteFlags.BufferHint);
            for (int i = 1; i <= 3; i++)
            {
                await responses.WriteAsync(Payloads.Of($"{i}"));
            }

            await mayGoOn;
            responses.WriteOptions = WriteOptions.Default;
            await responses.WriteAsync(Payloads.Of("last"));
        },
    };
}
