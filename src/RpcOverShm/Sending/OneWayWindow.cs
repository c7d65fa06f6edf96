using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// The bound of what the peer's one-way calls make this side keep: each takes of it from its first frame until its
/// method has ended, and a call may start only while some is left. What has become free is granted to the peer again,
/// half a window at a time, so a call costs no answer.
/// </summary>
internal sealed class OneWayWindow(uint window, Action<long> grant)
{
    private long _used;     // taken, and not granted again
    private long _returned; // of that, what may be granted again

    /// <summary>Checks that a call may start. Only the holder of the reader role calls this.</summary>
    /// <exception cref="ProtocolException">The peer has used all its credit.</exception>
    public void CheckStart()
    {
        if (Volatile.Read(ref _used) >= window)
        {
            throw new ProtocolException($"A one-way call without credit: {_used} of {window} bytes are used.");
        }
    }

    public void Take(long bytes) => Interlocked.Add(ref _used, bytes);

    /// <summary>Returns what an ended call has taken. Any thread may call this.</summary>
    public void Return(long bytes)
    {
        if (Interlocked.Add(ref _returned, bytes) < window / 2)
        {
            return;
        }

        long due = Interlocked.Exchange(ref _returned, 0);
        if (due > 0)
        {
            Interlocked.Add(ref _used, -due);
            grant(due);
        }
    }
}
