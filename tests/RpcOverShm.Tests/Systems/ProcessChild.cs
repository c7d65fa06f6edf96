using System.Diagnostics;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Windows;

namespace RpcOverShm.Tests.Systems;

/// <summary>A process that waits until it is killed, or until this one ends, which closes its input.</summary>
internal sealed partial class ProcessChild : IDisposable
{
    private const int PidfdOpen = 434;

    private readonly Process _process;

    private ProcessChild(Process process) => _process = process;

    public int Id => _process.Id;

    public static ProcessChild Start()
    {
        string[] command = OperatingSystem.IsWindows() ? ["cmd.exe", "/c", "pause"] : ["cat"];
        return new ProcessChild(Process.Start(new ProcessStartInfo(command[0], command[1..])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            UseShellExecute = false,
        })!);
    }

    /// <summary>Opens the process as the peer of a wire is opened.</summary>
    public WatchedProcess Open()
    {
        if (OperatingSystem.IsWindows())
        {
            return PeerOfTest.Open(Id);
        }

        SafeFileHandle descriptor = OpenDescriptor();
        var facts = FileFacts.OfDescriptor(descriptor);
        return new ProcessDescriptor(descriptor, new ProcessKey(Id, facts.Inode, facts.Device));
    }

    /// <summary>Opens the process on Linux.</summary>
    public SafeFileHandle OpenDescriptor() => OpenDescriptor(Id);

    public static SafeFileHandle OpenDescriptor(int processId)
    {
        nint descriptor = OpenProcess(PidfdOpen, processId, 0);
        Assert.That((long)descriptor, Is.Positive);
        return new SafeFileHandle(descriptor, ownsHandle: true);
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

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    private static partial nint OpenProcess(nint number, nint processId, nint flags);
}
