using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Windows;

/// <summary>
/// A full fence on all processors that run a thread of this process. Under Wine, the system's own is none. There a page
/// that was written loses its right to be written, and the kernel below interrupts the processors for that.
/// </summary>
internal static unsafe class ProcessFence
{
    private const int PageBytes = 4096;

    private static readonly UninterruptibleLock s_lock = new();
    private static readonly nint s_page = IsWine()
        ? WindowsNative.VirtualAlloc(
            0, PageBytes, WindowsNative.MemoryCommit | WindowsNative.MemoryReserve, WindowsNative.PageReadWrite)
        : 0;

    public static void Pass()
    {
        if (s_page == 0)
        {
            Interlocked.MemoryBarrierProcessWide();
            return;
        }

        using (s_lock.Enter())
        {
            uint former;
            _ = WindowsNative.VirtualProtect(s_page, PageBytes, WindowsNative.PageReadWrite, &former);
            Interlocked.Increment(ref *(int*)s_page);
            _ = WindowsNative.VirtualProtect(s_page, PageBytes, WindowsNative.PageNoAccess, &former);
        }
    }

    private static bool IsWine() =>
        NativeLibrary.TryLoad("ntdll", out nint module)
        && NativeLibrary.TryGetExport(module, "wine_get_version", out _);
}
