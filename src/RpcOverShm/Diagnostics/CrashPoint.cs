using System.Diagnostics;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// The named moments between two steps that another process can see. The test peer arms one of them and the process
/// kills itself there, as kill -9 would; the survivor must come to the state that the comment at the point promises. In
/// a process that arms none, the compiled code has nothing left of this.
/// </summary>
internal static class CrashPoint
{
    /// <summary>
    /// The switch (AppContext data) that names the armed point. Only code of the process itself can set it.
    /// </summary>
    public const string Switch = "RpcOverShm.CrashAt";

    public const string RendezvousLocked = "rendezvous-locked";
    public const string RendezvousBound = "rendezvous-bound";
    public const string RendezvousUnbound = "rendezvous-unbound";
    public const string HelloReceived = "hello-received";
    public const string RecordWritten = "record-written";
    public const string TailPublished = "tail-published";
    public const string RecordRead = "record-read";
    public const string HeadPublished = "head-published";
    public const string ReaderArmed = "reader-armed";

    // Read once: a constant for the compiler from then on.
    private static readonly string? s_armed = AppContext.GetData(Switch) as string;

    /// <summary>All points, for the test peer and the tests.</summary>
    public static IReadOnlyList<string> All { get; } =
    [
        RendezvousLocked, RendezvousBound, RendezvousUnbound, HelloReceived, RecordWritten, TailPublished, RecordRead,
        HeadPublished, ReaderArmed,
    ];

    /// <summary>Kills this process if this point is the armed one.</summary>
    public static void Reach(string point)
    {
        if (s_armed is not null && s_armed == point)
        {
            using var self = Process.GetCurrentProcess();
            self.Kill();
            Thread.CurrentThread.Join();
        }
    }
}
