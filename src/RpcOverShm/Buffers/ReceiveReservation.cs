namespace RpcOverShm.Buffers;

/// <summary>
/// Counts the array of a message that a peer has announced and not sent yet. All such arrays have a common limit
/// in the process, so announcements cannot use up its memory. Beyond the limit, messages are copied once more.
/// </summary>
internal sealed class ReceiveReservation : IDisposable
{
    private const long MostBytes = 64 << 20;

    private static long s_bytes;

    private int _bytes;

    private ReceiveReservation(int bytes) => _bytes = bytes;

    // An incomplete message stays unreleased if a thread without the reader role ends its call.
    ~ReceiveReservation() => GiveBack();

    /// <summary>The bytes that are reserved in this process.</summary>
    public static long Outstanding => Volatile.Read(ref s_bytes);

    /// <summary>Returns a reservation, or null if the limit is reached.</summary>
    public static ReceiveReservation? TryMake(int bytes)
    {
        if (Interlocked.Add(ref s_bytes, bytes) <= MostBytes)
        {
            return new ReceiveReservation(bytes);
        }

        Interlocked.Add(ref s_bytes, -bytes);
        return null;
    }

    /// <summary>Ends the reservation: the bytes have come or never will. May be called more than once.</summary>
    public void Dispose()
    {
        GiveBack();
        GC.SuppressFinalize(this);
    }

    private void GiveBack() => Interlocked.Add(ref s_bytes, -Interlocked.Exchange(ref _bytes, 0));
}
