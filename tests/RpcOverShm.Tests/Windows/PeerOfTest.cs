using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>Another process, which waits until it is killed.</summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe partial class PeerOfTest : IDisposable
{
    private readonly Process _process;

    private PeerOfTest(Process process) => _process = process;

    public int Id => _process.Id;

    /// <param name="pipe">The pipe to which the process connects, without sending anything; null for none.</param>
    public static PeerOfTest Start(string? pipe = null)
    {
        // The shell waits for a line that does not come.
        string command = pipe is null ? "/c pause" : $"/c pause < {pipe}";
        return new PeerOfTest(Process.Start(new ProcessStartInfo("cmd.exe", command)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            UseShellExecute = false,
        })!);
    }

    public WatchedProcess Open() => Open(Id);

    public static WatchedProcess Open(int processId)
    {
        var handle = new KernelHandle(WindowsNative.OpenProcess(
            WindowsNative.Synchronize | WindowsNative.ProcessQueryLimited, inherit: 0, processId));
        ProcessHandle? process = ProcessHandle.Of(handle, processId, out string? problem);
        Assert.That(problem, Is.Null);
        return process!;
    }

    /// <summary>Gives the process another list of rights.</summary>
    public void Restrict(string access)
    {
        const uint Dacl = 4;
        var descriptor = new AccessDescriptor(access);
        Assert.That(SetKernelObjectSecurity(
            _process.SafeHandle, Dacl, descriptor.Attributes.Descriptor), Is.Not.Zero, WindowsNative.LastErrorText);
        GC.KeepAlive(descriptor);
    }

    public void Kill()
    {
        _process.Kill();
        _process.WaitForExit();
    }

    public void Dispose()
    {
        Kill();
        _process.Dispose();
    }

    [LibraryImport("advapi32", SetLastError = true)]
    private static partial int SetKernelObjectSecurity(SafeHandle handle, uint what, nint descriptor);
}
