using System.Runtime.InteropServices;

namespace RpcOverShm.Segments;

/// <summary>
/// The time that the kernel lets a thread run before another runnable thread has its turn (Linux 6.12, EEVDF). A thread
/// with a shorter slice than the running one gets the processor when it is woken; any other waits for the end of the
/// running one's slice, some 1 to 3 ms. It gets no more processor time in all. Older kernels ignore the request.
/// </summary>
internal static unsafe class TimeSlice
{
    /// <summary>The shortest slice that the kernel takes.</summary>
    public const ulong ShortNanoseconds = 100_000;

    private const uint PolicyOther = 0;        // SCHED_OTHER
    private const ulong FlagResetOnFork = 0x1; // SCHED_FLAG_RESET_ON_FORK

    /// <summary>
    /// Asks for the shortest slice for the calling thread. The threads that it starts have the system's slice again.
    /// A thread that an administrator gave another policy or a preference keeps what it has.
    /// </summary>
    public static void ShortenOfThisThread()
    {
        if (!TryRead(threadId: 0, out SchedulingAttributes attributes)
            || attributes.Policy != PolicyOther
            || attributes.Nice < 0)
        {
            return;
        }

        attributes.Flags |= FlagResetOnFork;
        attributes.Runtime = ShortNanoseconds;
        _ = LinuxNative.SetScheduling(SystemCallNumbers.SchedSetattr, threadId: 0, &attributes, flags: 0);
    }

    /// <summary>Reads the attributes of a thread of this process; 0 is the calling one.</summary>
    public static bool TryRead(int threadId, out SchedulingAttributes attributes)
    {
        SchedulingAttributes read = default;
        bool isRead = SystemCallNumbers.AreKnown
            && LinuxNative.GetScheduling(
                SystemCallNumbers.SchedGetattr, threadId, &read, (uint)sizeof(SchedulingAttributes), flags: 0) == 0;
        attributes = read;
        return isRead;
    }
}

/// <summary>The fields of sched_setattr(2), in its first layout.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct SchedulingAttributes
{
    public uint Size;
    public uint Policy;
    public ulong Flags;
    public int Nice;
    public uint Priority;

    /// <summary>The slice in nanoseconds of a thread of an ordinary policy.</summary>
    public ulong Runtime;

    public ulong Deadline;
    public ulong Period;
}
