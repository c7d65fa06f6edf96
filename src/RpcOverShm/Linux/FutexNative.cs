using System.Runtime.InteropServices;
using TimeSpec = RpcOverShm.Linux.LinuxNative.TimeSpec;

namespace RpcOverShm.Linux;

/// <summary>
/// Declares the futex calls. Shared words never have the private flag, because the kernel keys private futexes by
/// address space. No call has SuppressGCTransition: a sleeping thread in cooperative mode would stall every GC.
/// </summary>
internal static unsafe partial class FutexNative
{
    public const int ErrnoENOSYS = 38;
    public const int ErrnoEPERM = 1;
    public const int ErrnoETIMEDOUT = 110;

    public const uint Size32 = 2;
    public const uint Private = 128;

    /// <summary>
    /// The threads of one side that may sleep on a shared word (PROTOCOL.md, 5). This library has one at a time: the
    /// holder of the reader role, or the one reader or writer of a byte stream.
    /// </summary>
    public const int MostSleepers = 4;

    private const int FutexWait = 0;
    private const int FutexWake = 1;

    /// <summary>Sleeps while the word has the expected value. Returns false only if the timeout has passed.</summary>
    public static bool Wait(uint* address, uint expected, TimeSpan timeout)
    {
        TimeSpec relative = TimeSpec.From(timeout.Ticks * TimeSpan.NanosecondsPerTick);
        nint result = Futex(SystemCallNumbers.Futex, address, FutexWait, expected, &relative, null, 0);
        return result == 0 || Marshal.GetLastPInvokeError() != ErrnoETIMEDOUT;
    }

    /// <summary>
    /// Wakes sleepers on the word in all processes, but no more than one side may have: a peer could let thousands of
    /// threads sleep there, and each costs the waking thread about a microsecond.
    /// </summary>
    public static void Wake(uint* address) =>
        _ = Futex(SystemCallNumbers.Futex, address, FutexWake, MostSleepers, null, null, 0);

    /// <summary>Wakes all sleepers on the word in all processes, however many the peer has there.</summary>
    public static void WakeAll(uint* address) =>
        _ = Futex(SystemCallNumbers.Futex, address, FutexWake, int.MaxValue, null, null, 0);

    /// <summary>Wakes all sleepers on a word that only this process uses.</summary>
    public static void WakeAllPrivate(uint* address) =>
        _ = Futex(SystemCallNumbers.Futex, address, FutexWake | (int)Private, int.MaxValue, null, null, 0);

    /// <summary>Sleeps as <see cref="Wait"/> does, on a word that only this process uses.</summary>
    public static void WaitPrivate(uint* address, uint expected, TimeSpan timeout)
    {
        TimeSpec relative = TimeSpec.From(timeout.Ticks * TimeSpan.NanosecondsPerTick);
        _ = Futex(SystemCallNumbers.Futex, address, FutexWait | (int)Private, expected, &relative, null, 0);
    }

    /// <summary>Sleeps while every word has its expected value, at most for the timeout.</summary>
    /// <returns>The index of a woken word, or the negative errno.</returns>
    public static int WaitAny(WaitEntry* entries, uint count, TimeSpan timeout)
    {
        // Unlike FUTEX_WAIT, this call takes an absolute time.
        const int Clock = LinuxNative.ClockMonotonic;
        var until = TimeSpec.From(
            LinuxNative.ReadClock(Clock) + (timeout.Ticks * TimeSpan.NanosecondsPerTick));
        nint result = FutexWaitv(SystemCallNumbers.FutexWaitv, entries, count, 0, &until, Clock);
        return result >= 0 ? (int)result : -Marshal.GetLastPInvokeError();
    }

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    private static partial nint Futex(
        nint number, uint* address, int operation, uint value, TimeSpec* timeout, uint* address2, uint value3);

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    private static partial nint FutexWaitv(
        nint number, WaitEntry* entries, uint count, uint flags, TimeSpec* until, nint clock);

    /// <summary>The kernel's struct futex_waitv.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct WaitEntry
    {
        public ulong Value;
        public ulong Address;
        public uint Flags;
        public uint Reserved;
    }
}
