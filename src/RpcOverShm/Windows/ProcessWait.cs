using System.Runtime.InteropServices;

namespace RpcOverShm.Windows;

/// <summary>
/// One wait of the system's own threads for the end of a process. Its action runs once, on such a thread, and must
/// neither wait nor throw.
/// </summary>
internal sealed unsafe class ProcessWait : IDisposable
{
    private const uint InWaitThreadOnce = 0x4 | 0x8; // WT_EXECUTEINWAITTHREAD, WT_EXECUTEONLYONCE

    private readonly KernelHandle _process;
    private readonly Action _onExit;
    private GCHandle _self;
    private nint _wait;

    private ProcessWait(KernelHandle process, Action onExit)
    {
        _process = process;
        _onExit = onExit;
    }

    /// <summary>Begins the wait. Returns null if the system refuses it, with the reason.</summary>
    public static ProcessWait? TryStart(KernelHandle process, Action onExit, out string? problem)
    {
        var wait = new ProcessWait(process, onExit);
        bool isKept = false;
        process.DangerousAddRef(ref isKept);
        wait._self = GCHandle.Alloc(wait);
        nint registration;
        nint context = GCHandle.ToIntPtr(wait._self);
        int isBegun = WindowsNative.RegisterWaitForSingleObject(
            &registration, process, &OnExit, context, WindowsNative.Infinite, InWaitThreadOnce);
        if (isBegun != 0)
        {
            wait._wait = registration;
            problem = null;
            return wait;
        }

        problem = WindowsNative.LastErrorText();
        wait._self.Free();
        process.DangerousRelease();
        return null;
    }

    /// <summary>Ends the wait; waits for the action if that runs.</summary>
    public void Dispose()
    {
        _ = WindowsNative.UnregisterWaitEx(_wait, WindowsNative.InvalidHandle);
        _self.Free();
        _process.DangerousRelease();
    }

    [UnmanagedCallersOnly]
    private static void OnExit(nint context, byte isTimedOut) =>
        ((ProcessWait)GCHandle.FromIntPtr(context).Target!)._onExit();
}
