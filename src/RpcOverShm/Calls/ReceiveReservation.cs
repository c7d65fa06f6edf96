namespace RpcOverShm.Calls;

/// <summary>
/// That a peer has announced so many bytes, for which there is an array already. All promises of the process together
/// are bounded: a peer that announces and does not send costs its victims a shortcut, and not their memory.
/// </summary>
internal sealed class ReceiveReservation : IDisposable
{
    private const long MostBytes = 64 << 20;

    private static long s_bytes;

    private int _bytes;

    private ReceiveReservation(int bytes) => _bytes = bytes;

    // A message that is cut off has nobody who would release it: the call has ended, and the reader role may not be
    // there.
    ~ReceiveReservation() => GiveBack();

    /// <summary>What is promised and has neither come nor been given up.</summary>
    public static long Outstanding => Volatile.Read(ref s_bytes);

    /// <summary>Null when too much was promised already.</summary>
    public static ReceiveReservation? TryMake(int bytes)
    {
        if (Interlocked.Add(ref s_bytes, bytes) <= MostBytes)
        {
            return new ReceiveReservation(bytes);
        }

        Interlocked.Add(ref s_bytes, -bytes);
        return null;
    }

    /// <summary>The bytes have come, or never will. Any number of times.</summary>
    public void Dispose()
    {
        GiveBack();
        GC.SuppressFinalize(this);
    }

    private void GiveBack() => Interlocked.Add(ref s_bytes, -Interlocked.Exchange(ref _bytes, 0));
}
