using System.Net.Sockets;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// One wait until a socket is readable, on the loop of the doors. The sockets of links are not watched by .NET's own
/// engine: it would run for each doorbell.
/// </summary>
internal sealed class SocketReadiness : DescriptorSource
{
    // A server that is not busy answers within this time, and then two threads need not be woken for the answer.
    private const int BlockingMilliseconds = 2;

    private readonly TaskCompletionSource _readable = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>
    /// Waits until a socket is readable or has ended: for the first moment on this thread. Consumes nothing.
    /// </summary>
    /// <exception cref="IOException">The system lacks something for the wait.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public static async Task WaitAsync(Socket socket, CancellationToken cancellationToken)
    {
        if (EventPoll.IsReadable(socket.SafeHandle, BlockingMilliseconds))
        {
            return;
        }

        var wait = new SocketReadiness();
        if (wait.Watch(EventLoop.Door, socket.SafeHandle) is { } problem)
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
