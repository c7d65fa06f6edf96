using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;

namespace RpcOverShm.TestPeer;

/// <summary>The command that leaves a child which holds the sockets of this process, as a forked child does.</summary>
internal static class ChildCommands
{
    private const int FSetFd = 2;

    /// <summary>Starts a child that outlives this process. The reply is its id; the parent must kill it.</summary>
    public static string LeaveChild()
    {
        foreach (string path in Directory.GetFiles("/proc/self/fd"))
        {
            if (new FileInfo(path).LinkTarget is { } target && target.StartsWith("socket:", StringComparison.Ordinal))
            {
                KeepInChildren(int.Parse(Path.GetFileName(path), CultureInfo.InvariantCulture));
            }
        }

        // Its own standard streams: those of this process would keep the parent from seeing the end of this process.
        using Process child = Process.Start(new ProcessStartInfo("sleep", "300")
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;
        return child.Id.ToString(CultureInfo.InvariantCulture);
    }

    private static void KeepInChildren(int descriptor)
    {
        using var socket = new SafeFileHandle(descriptor, ownsHandle: false);
        if (LinuxNative.FCntl(socket, FSetFd, 0) != 0)
        {
            throw new Win32Exception();
        }
    }
}
