namespace RpcOverShm.FunctionalTests.Cancellation;

[EveryRig]
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class CancellationTests(RigKind kind) : RigFixture(kind)
{
    private readonly TaskCompletionSource _handlerBegan = new(TaskCreationOptions.RunContinuationsAsynchronously);

    [Test]
    public async Task Dispose_WhileTheHandlersWriteWaits_EndsTheWriteAndTheHandler()
    {
        var wrote = new TaskCompletionSource<Exception?>();
        CallRig rig = await StartAsync(
            new Script
            {
                ServerStream = async (_, responses, _) =>
                {
                    _handlerBegan.TrySetResult();
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
        int began = 0;
        int fired = 0;
        CallRig rig = await StartAsync(new Script
        {
            Unary = async (request, context) =>
            {
                Interlocked.Increment(ref began);
                try
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }
                finally
                {
                    Interlocked.Increment(ref fired);
                }

                return request;
            },
        });
        using var cancellation = new CancellationTokenSource();
        var options = new CallOptions(cancellationToken: cancellation.Token);

        Task<RpcException>[] calls =
        [
            .. Enumerable.Range(0, 300).Select(_ => FailureOf(rig.Client.UnaryAsync(Payloads.Empty, options))),
        ];
        await Timeouts.Eventually(() => Volatile.Read(ref began) == 300);
        await cancellation.CancelAsync();
        RpcException[] failures = await Task.WhenAll(calls);
        await Timeouts.Eventually(() => Volatile.Read(ref fired) == 300);

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Cancelled));
    }
}
