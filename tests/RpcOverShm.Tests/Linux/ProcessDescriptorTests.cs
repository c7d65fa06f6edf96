using System.Net.Sockets;
using RpcOverShm.Linux;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Linux;

/// <summary>The descriptor of the process at the other end of a socket.</summary>
[LinuxOnly("Descriptors of processes.")]
public class ProcessDescriptorTests
{
    [Test]
    public void OfPeer_OfAConnectedSocket_IsTheOtherProcess()
    {
        using var sockets = new SocketPair();

        using ProcessDescriptor? process =
            ProcessDescriptor.OfPeer(sockets.Server, Environment.ProcessId, out string? problem);

        Assert.That(problem, Is.Null);
        using var own = new ProcessDescriptor(ProcessChild.OpenDescriptor(Environment.ProcessId), default);
        Assert.That(process!.Key.Unique, Is.EqualTo(FileFacts.OfDescriptor(own.Handle).Inode));
        Assert.That(process.HasExited, Is.False);
    }

    [Test]
    public void OfPeer_OfAnotherPidNamespace_IsToldApartByItsInode()
    {
        using var sockets = new SocketPair();

        using ProcessDescriptor? process = ProcessDescriptor.OfPeer(sockets.Server, 0, out string? problem);

        // Before Linux 6.9 all descriptors have the same inode.
        Assert.That(process is null, Is.EqualTo(!OperatingSystem.IsOSPlatformVersionAtLeast("Linux", 6, 9)), problem);
    }

    [Test]
    public void OfPeer_WithoutAPeer_SaysWhy()
    {
        using Socket socket = UnixSockets.New();

        Assert.That(ProcessDescriptor.OfPeer(socket, 1, out string? problem), Is.Null);

        Assert.That(problem, Does.StartWith("the kernel gives no descriptor of it ("));
    }
}
