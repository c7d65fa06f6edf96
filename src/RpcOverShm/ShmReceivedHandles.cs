using Grpc.Core;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>The handles that a server sends for one call, such as those of open files, pipes and sockets.</summary>
/// <remarks>
/// Give it to a call with <see cref="ShmHandleExtensions.WithHandles(CallOptions, ShmReceivedHandles,
/// System.Runtime.InteropServices.SafeHandle[])"/>; to one call at a time. Thread-safe. Dispose it: what was not taken
/// is closed then.
/// </remarks>
public sealed class ShmReceivedHandles : IDisposable
{
    /// <summary>The handles of the call.</summary>
    internal HandleQueue Queue { get; } = new();

    /// <summary>Takes the next handles that the server has sent together, at most 16.</summary>
    /// <param name="cancellationToken">Ends the wait; the handles can still be taken.</param>
    /// <returns>
    /// The handles, in the order of the server. They belong to the caller, who disposes them. Empty if no further ones
    /// were sent before what has come of the call: so ask after the response, or after the message of a stream that
    /// they belong to. Those of a later message may be there already, so a message says whether it has some.
    /// </returns>
    /// <exception cref="RpcException">
    /// <see cref="StatusCode.ResourceExhausted"/>: they were closed when they came, since
    /// <see cref="ShmHandleOptions.MaxHeld"/> was reached. <see cref="StatusCode.Unavailable"/>: the connection ended
    /// before they came. <see cref="StatusCode.Internal"/>: they did not come within 30 seconds.
    /// </exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public ValueTask<SafeFileHandle[]> TakeAsync(CancellationToken cancellationToken = default) =>
        Queue.TakeAsync(cancellationToken);

    /// <summary>Closes what nobody has taken, on another thread, and all that comes later.</summary>
    public void Dispose() => Queue.Close();
}
