using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// The named points between two steps that another process can see. If the test peer arms a point, the process kills
/// itself there, as kill -9 would; the survivor must reach the state that the CRASH comment at the point describes. In
/// a process that arms no point, the JIT removes the check.
/// </summary>
internal static class CrashPoint
{
    /// <summary>The AppContext data that names the armed point. Only code of the process itself can set it.</summary>
    public const string Switch = "RpcOverShm.CrashAt";

    public const string RendezvousLocked = "rendezvous-locked";
    public const string RendezvousBound = "rendezvous-bound";
    public const string RendezvousUnbound = "rendezvous-unbound";
    public const string HelloSent = "hello-sent";
    public const string HelloReceived = "hello-received";
    public const string RecordWritten = "record-written";
    public const string TailPublished = "tail-published";
    public const string RecordRead = "record-read";
    public const string HeadPublished = "head-published";
    public const string ReaderArmed = "reader-armed";

    // Read once, so that the JIT treats it as a constant.
    private static readonly string? s_armed = AppContext.GetData(Switch) as string;

    /// <summary>All points, for the test peer and the tests.</summary>
    public static IReadOnlyList<string> All { get; } =
    [
        RendezvousLocked, RendezvousBound, RendezvousUnbound, HelloSent, HelloReceived, RecordWritten, TailPublished,
        RecordRead, HeadPublished, ReaderArmed,
    ];

    /// <summary>Kills this process if the point is armed.</summary>
    public static void Reach(string point)
    {
        if (s_armed is not null && s_armed == point)
        {
            Die();
        }
    }

    // Apart from the check: compiling this method loads an assembly, which fails in a process without free descriptors.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Die()
    {
        using var self = Process.GetCurrentProcess();
        self.Kill();
        Thread.CurrentThread.Join();
    }
}
