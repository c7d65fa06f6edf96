using System.Diagnostics;
using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>Another process, which waits until it is killed.</summary>
[SupportedOSPlatform("windows")]
internal sealed class PeerOfTest : IDisposable
{
    private readonly Process _process;

    private PeerOfTest(Process process) => _process = process;

    public int Id => _process.Id;

    // The shell waits for a line that does not come.
    public static PeerOfTest Start() => new(Process.Start(new ProcessStartInfo("cmd.exe", "/c pause")
    {
        RedirectStandardInput = true,
        RedirectStandardOutput = true,
        UseShellExecute = false,
    })!);

    public WatchedProcess Open()
    {
        var handle = new KernelHandle(WindowsNative.OpenProcess(
            WindowsNative.Synchronize | WindowsNative.ProcessQueryLimited, inherit: 0, Id));
        ProcessHandle? process = ProcessHandle.Of(handle, Id, out string? problem);
        Assert.That(problem, Is.Null);
        return process!;
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
}
