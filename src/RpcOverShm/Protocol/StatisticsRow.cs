using System.Runtime.InteropServices;

namespace RpcOverShm.Protocol;

/// <summary>
/// The figures of one connection in the page with a server's statistics, as PROTOCOL.md has them. The counts of
/// latencies follow.
/// </summary>
[StructLayout(LayoutKind.Explicit, Size = SizeBytes)]
internal struct StatisticsRow
{
    /// <summary>The room of the figures; the counts of latencies begin behind it.</summary>
    public const int SizeBytes = 256;

    /// <summary>The number of the session.</summary>
    [FieldOffset(0)]
    public long Session;

    /// <summary>The client's process, as the kernel names it.</summary>
    [FieldOffset(8)]
    public long ProcessId;

    /// <summary>The client's user.</summary>
    [FieldOffset(16)]
    public long UserId;

    /// <summary>The calls that the server has admitted since the connection began.</summary>
    [FieldOffset(24)]
    public long Calls;

    /// <summary>The calls that have not ended.</summary>
    [FieldOffset(32)]
    public long InFlight;

    /// <summary>Of these, the calls that wait for their turn.</summary>
    [FieldOffset(40)]
    public long Queued;

    /// <summary>The methods that have ended and wait until the client reads earlier answers.</summary>
    [FieldOffset(48)]
    public long UnsentResponses;

    /// <summary>The bytes that the client makes the server keep.</summary>
    [FieldOffset(56)]
    public long KeptBytes;

    /// <summary>The bytes in the server's ring that the client has not released.</summary>
    [FieldOffset(64)]
    public long UnreadByClient;

    /// <summary>The bytes in the client's ring that the server has not released.</summary>
    [FieldOffset(72)]
    public long UnreadByServer;

    /// <summary>The most bytes that the server's ring can have.</summary>
    [FieldOffset(80)]
    public long ServerRing;

    /// <summary>The most bytes that the client's ring can have.</summary>
    [FieldOffset(88)]
    public long ClientRing;

    /// <summary>The system calls that woke the client.</summary>
    [FieldOffset(96)]
    public long WakeUps;

    /// <summary>The times that the server had to wait for space in its ring.</summary>
    [FieldOffset(104)]
    public long Stalls;
}
