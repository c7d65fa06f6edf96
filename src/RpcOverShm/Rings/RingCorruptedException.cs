namespace RpcOverShm.Rings;

/// <summary>
/// The peer's half of a ring makes no sense: a position moved backwards or too far, or a record is impossible. The
/// connection that owns the ring is closed; nothing is repaired or skipped.
/// </summary>
internal sealed class RingCorruptedException(string message) : Exception(message);
