using RpcOverShm.Explorer.Model;

namespace RpcOverShm.Explorer.Shims;

/// <summary>
/// The futex calls as steps of the model. A sleep has no timeout, so that a lost wake-up is a role that never ends.
/// </summary>
internal static unsafe class FutexNative
{
    public const int ErrnoENOSYS = 38;
    public const int ErrnoEPERM = 1;
    public const int ErrnoETIMEDOUT = 110;

    public const uint Size32 = 2;
    public const uint Private = 128;

    public const int MostSleepers = 4;

    private static RoleRun Run => RoleRun.Current;

    public static bool Wait(uint* address, uint expected, TimeSpan timeout)
    {
        _ = timeout;
        Run.Perform(new Op(OpKind.Sleep, Run.LocationOf(address), expected));
        return true;
    }

    // No scenario has more roles than a wake reaches (ScheduleTests), so it wakes all.
    public static void Wake(uint* address) => WakeAll(address);

    public static void WakeAll(uint* address) => Run.Perform(new Op(OpKind.Wake, Run.LocationOf(address)));

    public static void WaitPrivate(uint* address, uint expected, TimeSpan timeout) => Wait(address, expected, timeout);

    public static void WakeAllPrivate(uint* address) => WakeAll(address);

    public static int WaitAny(WaitEntry* entries, uint count, TimeSpan timeout)
    {
        _ = timeout;
        RoleContext.Require(count == 2, "A sleep is on a shared word and on the local events.");
        return (int)Run.Perform(new Op(
            OpKind.Sleep,
            Run.LocationOf((void*)entries[0].Address),
            (long)entries[0].Value,
            Run.LocationOf((void*)entries[1].Address),
            (long)entries[1].Value));
    }

    /// <summary>The fields of the kernel's struct that the signal sets.</summary>
    public struct WaitEntry
    {
        public ulong Value;
        public ulong Address;
        public uint Flags;
    }
}

/// <summary>The numbers of system calls: none is made here.</summary>
internal static class SystemCallNumbers
{
    public static bool AreKnown => false;
}

/// <summary>The system, of which a word of this process alone needs its sleeps.</summary>
internal sealed unsafe class HostSystem
{
    public static HostSystem Current { get; } = new();

    public void WaitPrivate(uint* address, uint expected, TimeSpan timeout) =>
        FutexNative.WaitPrivate(address, expected, timeout);

    public void WakePrivate(uint* address) => FutexNative.WakeAllPrivate(address);
}
