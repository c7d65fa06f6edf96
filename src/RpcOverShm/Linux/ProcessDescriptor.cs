using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// A descriptor of another process (pidfd), readable when all threads of that process have ended. It always means the
/// same process, even after another one got its id.
/// </summary>
internal sealed class ProcessDescriptor : WatchedProcess
{
    private const int SoPeerpidfd = 77;

    /// <summary>Takes the descriptor over.</summary>
    public ProcessDescriptor(SafeFileHandle handle, ProcessKey key)
    {
        Handle = handle;
        Key = key;
    }

    public override SafeFileHandle Handle { get; }

    // The id, and the inode of its descriptors, unique from Linux 6.9 on.
    public override ProcessKey Key { get; }

    public override bool IsReadable(int timeoutMilliseconds) => EpollPoll.IsReadable(Handle, timeoutMilliseconds);

    /// <summary>
    /// Returns the process that connected a socket, or that began to listen, as the kernel noted it at that moment. If
    /// there is no descriptor of it, returns null and the reason.
    /// </summary>
    /// <exception cref="ObjectDisposedException">The socket is closed.</exception>
    public static ProcessDescriptor? OfPeer(Socket socket, int processId, out string? problem)
    {
        Span<byte> number = stackalloc byte[sizeof(int)];
        try
        {
            socket.GetRawSocketOption(LinuxNative.SolSocket, SoPeerpidfd, number);
        }
        catch (SocketException exception)
        {
            // Linux before 6.5, a process that has ended on Linux before 6.16, or too many descriptors.
            problem = $"the kernel gives no descriptor of it ({exception.Message})";
            return null;
        }

        var handle = new SafeFileHandle(MemoryMarshal.Read<int>(number), ownsHandle: true);
        try
        {
            var facts = FileFacts.OfDescriptor(handle);
            problem = processId != 0 || IsDistinct(facts)
                ? null
                : "it is of another pid namespace, and this kernel's process descriptors all look alike";
            if (problem is null)
            {
                var process = new ProcessDescriptor(handle, new ProcessKey(processId, facts.Inode, facts.Device));
                handle = null;
                return process;
            }
        }
        catch (IOException exception)
        {
            problem = exception.Message;
        }
        finally
        {
            handle?.Dispose();
        }

        return null;
    }

    public override void Dispose() => Handle.Dispose();

    // Before Linux 6.9 all process descriptors have one inode, which event descriptors have as well.
    private static bool IsDistinct(in FileFacts facts)
    {
        using var other = new SafeFileHandle(LinuxNative.EventFd(0, LinuxNative.OCloexec), ownsHandle: true);
        return !other.IsInvalid && !facts.IsSameFileAs(FileFacts.OfDescriptor(other));
    }
}
