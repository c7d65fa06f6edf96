using System.Runtime.InteropServices;

namespace RpcOverShm.Systems;

/// <summary>
/// A wire, a door, or a process, of which a poll tells. At most one poll watches it at a time. Disposing it closes it;
/// the poll must have removed it before.
/// </summary>
internal abstract class Watchable : IDisposable
{
    /// <summary>The handle or descriptor.</summary>
    public abstract SafeHandle Handle { get; }

    /// <summary>
    /// Returns whether there is something to receive, or an end, at the latest after the timeout; possibly earlier.
    /// </summary>
    /// <exception cref="ObjectDisposedException">It is closed.</exception>
    public abstract bool IsReadable(int timeoutMilliseconds);

    public abstract void Dispose();
}
