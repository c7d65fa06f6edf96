using System.Runtime.InteropServices;

namespace RpcOverShm.Linux;

/// <summary>
/// The numbers of the system calls that libc may not wrap, for the two supported processors. They come from the
/// kernel's arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
/// </summary>
internal static class SystemCallNumbers
{
    public static nint Futex { get; } = ForProcessor(x64: 202, arm64: 98);

    public static nint GetTid { get; } = ForProcessor(x64: 186, arm64: 178);

    public static nint MemfdCreate { get; } = ForProcessor(x64: 319, arm64: 279);

    public static nint Statx { get; } = ForProcessor(x64: 332, arm64: 291);

    /// <summary>futex_waitv (Linux 5.16). Recent system calls have the same number on every processor.</summary>
    public static nint FutexWaitv => 449;

    /// <summary>cachestat (Linux 6.5).</summary>
    public static nint CacheStat => 451;

    /// <summary>Whether the numbers are known for this processor.</summary>
    public static bool AreKnown =>
        RuntimeInformation.ProcessArchitecture is Architecture.X64 or Architecture.Arm64;

    private static nint ForProcessor(nint x64, nint arm64) => RuntimeInformation.ProcessArchitecture switch
    {
        Architecture.X64 => x64,
        Architecture.Arm64 => arm64,
        _ => -1,
    };
}
