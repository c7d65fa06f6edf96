using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>A handle of another process, which the system sets when the process ends.</summary>
internal sealed unsafe class ProcessHandle : WatchedProcess
{
    private readonly KernelHandle _handle;

    private ProcessHandle(KernelHandle handle, ProcessKey key)
    {
        _handle = handle;
        Key = key;
    }

    public override ProcessKey Key { get; }

    public override SafeHandle Handle => _handle;

    /// <summary>Takes the handle of a process over. Returns null if the system does not describe it.</summary>
    public static ProcessHandle? Of(KernelHandle handle, int processId, out string? problem)
    {
        if (BeginOf(handle, out problem) is { } begun)
        {
            return new ProcessHandle(handle, new ProcessKey(processId, (ulong)begun, Domain: 0));
        }

        handle.Dispose();
        return null;
    }

    /// <summary>Returns the file time at which a process began; null if the system does not tell it.</summary>
    public static long? BeginOf(KernelHandle handle, out string? problem)
    {
        long created;
        long unused;
        bool isTold = WindowsNative.GetProcessTimes(handle, &created, &unused, &unused, &unused) != 0;
        problem = isTold ? null : $"the system does not tell when it began ({WindowsNative.LastErrorText()})";
        return isTold ? created : null;
    }

    public override bool IsReadable(int timeoutMilliseconds) =>
        WindowsNative.WaitForSingleObject(_handle, (uint)timeoutMilliseconds) == 0;

    public override void Dispose() => _handle.Dispose();
}
