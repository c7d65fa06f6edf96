using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Linux;

/// <summary>
/// The calls on sockets for which .NET has no API that neither waits nor throws, such as accepting and ending. The
/// class has no state.
/// </summary>
internal static unsafe class SocketCalls
{
    private const int SocketNonblockCloexec = LinuxNative.ONonblock | LinuxNative.OCloexec;
    private const int LimitOfDescriptors = 7;
    private const int ShutBoth = 2;

    /// <summary>
    /// Binds a Unix socket to a path. A socket that .NET has bound deletes whatever is at its path when it is disposed,
    /// perhaps the socket of the next server.
    /// </summary>
    /// <exception cref="IOException">The system refused it.</exception>
    public static void Bind(Socket socket, string path)
    {
        byte[] address = AddressOf(path);
        fixed (byte* first = address)
        {
            if (LinuxNative.Bind(socket.SafeHandle, first, (uint)address.Length) != 0)
            {
                throw new IOException($"Cannot bind '{path}': {LinuxNative.LastErrorText()}.");
            }
        }
    }

    /// <summary>
    /// Returns whether a process has the socket at a path; null if the system does not tell. A connect of another type
    /// of socket finds that out without a connection: the kernel looks for the owner before it compares the types.
    /// </summary>
    public static bool? IsBound(string path)
    {
        try
        {
            using var probe = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
            byte[] address = AddressOf(path);
            fixed (byte* first = address)
            {
                return LinuxNative.Connect(probe.SafeHandle, first, (uint)address.Length) == 0
                    ? true
                    : Marshal.GetLastPInvokeError() switch
                    {
                        LinuxNative.ErrnoEPROTOTYPE => true,
                        LinuxNative.ErrnoECONNREFUSED => false,
                        _ => null,
                    };
            }
        }
        catch (SocketException)
        {
            return null; // There is no descriptor free.
        }
    }

    /// <summary>Lets a bound socket listen.</summary>
    /// <exception cref="IOException">The system refused it.</exception>
    public static void Listen(Socket socket, int backlog)
    {
        if (LinuxNative.Listen(socket.SafeHandle, backlog) != 0)
        {
            throw new IOException($"Cannot listen: {LinuxNative.LastErrorText()}.");
        }
    }

    /// <summary>
    /// Accepts a client without waiting. Returns null if none waits or the call failed; then
    /// <paramref name="errno"/> is the reason.
    /// </summary>
    public static SocketWire? TryAccept(Socket listening, out int errno)
    {
        int descriptor = LinuxNative.Accept4(listening.SafeHandle, 0, 0, SocketNonblockCloexec);
        errno = descriptor < 0 ? Marshal.GetLastPInvokeError() : 0;
        return descriptor < 0 ? null : new SocketWire(new Socket(new SafeSocketHandle(descriptor, ownsHandle: true)));
    }

    /// <summary>Opens a descriptor that can be given up when no other is free; null if none is.</summary>
    public static SafeFileHandle? TryOpenSpare()
    {
        int descriptor = LinuxNative.Open("/dev/null", LinuxNative.OCloexec, 0);
        return descriptor < 0 ? null : new SafeFileHandle(descriptor, ownsHandle: true);
    }

    /// <summary>Ends both directions: the peer sees the end, and a wait of this process for the socket ends.</summary>
    public static void ShutDown(Socket socket)
    {
        try
        {
            _ = LinuxNative.Shutdown(socket.SafeHandle, ShutBoth);
        }
        catch (ObjectDisposedException)
        {
            // It is closed already.
        }
    }

    /// <summary>
    /// Closes a socket, on this thread: if another thread uses it at this moment, .NET's close happens on that one. So
    /// a second descriptor of the socket is closed here last.
    /// </summary>
    public static void Close(Socket socket)
    {
        int last = -1;
        try
        {
            last = LinuxNative.FCntl(socket.SafeHandle, LinuxNative.FDuplicateCloexec, 0);
        }
        catch (ObjectDisposedException)
        {
            // It is closed already.
        }

        socket.Dispose();
        if (last >= 0)
        {
            _ = LinuxNative.Close(last);
        }
    }

    /// <summary>Returns how many descriptors this process may have open (RLIMIT_NOFILE).</summary>
    public static long MaxDescriptors()
    {
        LinuxNative.ResourceLimit limit;
        return LinuxNative.GetResourceLimit(LimitOfDescriptors, &limit) == 0
            ? (long)Math.Min(limit.Current, int.MaxValue)
            : int.MaxValue;
    }

    // struct sockaddr_un: the family, then the path with a terminating zero.
    private static byte[] AddressOf(string path) =>
        [(byte)AddressFamily.Unix, 0, .. Encoding.UTF8.GetBytes(path), 0];
}
