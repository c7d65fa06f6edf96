namespace RpcOverShm.Rings;

/// <summary>The way to wake a side that sleeps: the low bits of its parked words.</summary>
[Flags]
internal enum Doorbell
{
    /// <summary>No wake-up: the side does not sleep.</summary>
    None = 0,

    /// <summary>A thread sleeps on the word of the other side's position: a futex wake ends its sleep.</summary>
    Futex = 1,

    /// <summary>An event loop sleeps on the socket: a byte ends its sleep.</summary>
    Socket = 2,
}

/// <summary>
/// The parts of a parked word: a position, and the doorbell in its low bits, which are free because positions are
/// multiples of 16.
/// </summary>
internal static class ParkedWord
{
    public const long DoorbellMask = (long)(Doorbell.Futex | Doorbell.Socket);

    public const long PositionMask = ~15L;

    /// <summary>Returns the doorbell that a peer's parked word asks for. Unknown bits are ignored.</summary>
    public static Doorbell DoorbellOf(long parked) => (Doorbell)(parked & DoorbellMask);
}
