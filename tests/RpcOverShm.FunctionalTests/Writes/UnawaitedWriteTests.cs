namespace RpcOverShm.FunctionalTests.Writes;

/// <summary>Writes that a method leaves unawaited and that never succeed.</summary>
internal sealed class UnawaitedWriteTests() : ItemFixture(RigKind.Shm)
{
    // Larger than the window of a client that does not read.
    private const int LargeBytes = 3_000_000;

    [Test]
    public async Task Write_LeftBehindByItsMethod_IsNeverUnobserved(
        [Values(MethodType.ServerStreaming, MethodType.DuplexStreaming)] MethodType shape,
        [Values] bool isThrowing,
        [Values] bool isLater)
    {
        WeakReference write = null!;
        async Task EndAsync(IServerStreamWriter<Payload> responses)
        {
            if (isLater)
            {
                await Task.Yield();
            }

            write = new WeakReference(responses.WriteAsync(Payloads.OfSize(LargeBytes)));
            if (isThrowing)
            {
                throw new RpcException(new Status(StatusCode.Aborted, "by the method"));
            }
        }

        CallRig rig = await UseAsync(new Script
        {
            ServerStream = (_, responses, _) => EndAsync(responses),
            Duplex = (_, responses, _) => EndAsync(responses),
        });
        IReadOnlyList<Exception> unobserved = await Unobserved.InAsync(async () =>
        {
            await GiveUpAsync((ShmRig)rig, shape, () => write is not null);
            await Timeouts.Eventually(() =>
            {
                Unobserved.Collect();
                return !write.IsAlive;
            });
        });

        Assert.That(unobserved, Is.Empty);
    }

    /// <summary>Disposes a call whose method has ended and whose responses are unread.</summary>
    private static async Task GiveUpAsync(ShmRig rig, MethodType shape, Func<bool> hasWritten)
    {
        (CallInvoker invoker, CallOptions options) = (rig.Invoker, default(CallOptions));
        using IDisposable call = shape == MethodType.ServerStreaming
            ? invoker.AsyncServerStreamingCall(Script.ServerStreamMethod, null, options, Payloads.Empty)
            : invoker.AsyncDuplexStreamingCall(Script.DuplexMethod, null, options);
        await Timeouts.Eventually(() => hasWritten() && rig.Served.Single().PendingOrRunning == 0);
    }
}
