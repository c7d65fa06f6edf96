using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// One wait until a wire is readable, on the loop of the doors. The sockets of links are not watched by .NET's own
/// engine: it would run for each doorbell.
/// </summary>
internal sealed class WireReadiness : WatchableSource
{
    // A server that is not busy answers within this time, and then two threads need not be woken for the answer.
    private const int BlockingMilliseconds = 2;

    private readonly TaskCompletionSource _readable = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>
    /// Waits until a wire is readable or has ended: for the first moment on this thread. Consumes nothing.
    /// </summary>
    /// <exception cref="IOException">The system lacks something for the wait.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public static async Task WaitAsync(Wire wire, CancellationToken cancellationToken)
    {
        if (wire.IsReadable(BlockingMilliseconds))
        {
            return;
        }

        var wait = new WireReadiness();
        if (wait.Watch(EventLoop.Door, wire) is { } problem)
        {
            throw new IOException(problem);
        }

        try
        {
            await wait._readable.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            wait.EndWatch();
        }
    }

    protected override void OnReady() => _readable.TrySetResult();
}
