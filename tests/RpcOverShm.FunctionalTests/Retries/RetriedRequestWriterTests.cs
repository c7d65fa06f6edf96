namespace RpcOverShm.FunctionalTests.Retries;

/// <summary>The request writer of a retryable call refuses concurrent writes.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class RetriedRequestWriterTests() : RigFixture(RigKind.Shm)
{
    private IClientStreamWriter<Payload>? _writer;
    private bool _hasBegun;
    private Task? _second;
    private Task? _completion;

    [Test]
    public async Task Write_WhileAnotherIsBeingSerialised_IsRefused_AsIsTheEnd()
    {
        Method<Payload, Payload> method = Script.ClientStreamMethod.Serializing(() =>
        {
            if (!_hasBegun)
            {
                // The first write has begun but is not sent yet.
                _hasBegun = true;
                _second = _writer!.WriteAsync(Payloads.Of("second"));
                _completion = _writer.CompleteAsync();
            }
        });
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ClientStream = async (requests, _) =>
                    Payloads.Of(string.Join(',', (await requests.ToListAsync()).Select(one => one.Text()))),
            },
            new RigOptions { Retries = new RigRetries(3, StatusCode.Unavailable) });

        using AsyncClientStreamingCall<Payload, Payload> call =
            rig.Invoker.AsyncClientStreamingCall(method, null, default);
        _writer = call.RequestStream;
        await _writer.WriteAsync(Payloads.Of("first")).Bounded();
        Assert.That(async () => await _second!.Bounded(), Throws.InvalidOperationException);
        Assert.That(async () => await _completion!.Bounded(), Throws.InvalidOperationException);
        await _writer.WriteAsync(Payloads.Of("third")).Bounded();
        await _writer.CompleteAsync().Bounded();

        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("first,third"));
        Assert.That(
            async () => await _writer.WriteAsync(Payloads.Empty).Bounded(), Throws.InvalidOperationException);
    }
}
