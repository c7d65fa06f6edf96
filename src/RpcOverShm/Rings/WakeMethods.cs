namespace RpcOverShm.Rings;

/// <summary>The ways to wake a side that sleeps: the low bits of its parked words.</summary>
[Flags]
internal enum WakeMethods
{
    /// <summary>No wake-up: the side does not sleep.</summary>
    None = 0,

    /// <summary>A thread sleeps on the word of the other side's position: a futex wake ends its sleep.</summary>
    Futex = 1,

    /// <summary>An event loop sleeps on the socket: a byte ends its sleep.</summary>
    Doorbell = 2,
}

/// <summary>
/// The parts of a parked word: a position, and the ways to wake in its low bits, which are free because positions are
/// multiples of 16.
/// </summary>
internal static class ParkedWord
{
    public const long WakeMethodsMask = (long)(WakeMethods.Futex | WakeMethods.Doorbell);

    public const long PositionMask = ~15L;

    /// <summary>Returns the ways to wake that a peer's parked word asks for. Unknown bits are ignored.</summary>
    public static WakeMethods WakeMethodsOf(long parked) => (WakeMethods)(parked & WakeMethodsMask);
}
