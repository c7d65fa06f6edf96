namespace RpcOverShm.FunctionalTests.Cancellation;

[EveryRig]
internal sealed class CancellationTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task Dispose_WhileTheHandlersWriteWaits_EndsTheWriteAndTheHandler()
    {
        var wrote = new TaskCompletionSource<Exception?>();
        CallRig rig = await StartAsync(
            new Script
            {
                ServerStream = async (_, responses, _) =>
                {
                    try
                    {
                        // The client does not read: the writes fill every window and then wait.
                        for (int i = 0; i < 1000; i++)
                        {
                            await responses.WriteAsync(Payloads.OfSize(1 << 20));
                        }

                        wrote.SetResult(null);
                    }
                    catch (Exception exception)
                    {
                        wrote.SetResult(exception);
                        throw;
                    }
                },
            });
        rig.Log.Expect(301);

        AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        call.Dispose();
        Exception? exception = await wrote.Task.Bounded();

        Assert.That(exception, Is.Not.Null);
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
    }

    [Test]
    public async Task ManyAtOnce_EachHandlerHearsOfIt()
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        using var cancellation = new CancellationTokenSource();
        var options = new CallOptions(cancellationToken: cancellation.Token);

        Task<RpcException>[] calls =
        [
            .. Enumerable.Range(0, 300).Select(_ => FailureOf(rig.Client.UnaryAsync(Payloads.Empty, options))),
        ];
        await Timeouts.Eventually(() => held.Begun == 300);
        await cancellation.CancelAsync();
        RpcException[] failures = await Task.WhenAll(calls);
        await Timeouts.Eventually(() => held.Ended == 300);

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Cancelled));
    }
}
