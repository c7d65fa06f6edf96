using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.Segments;

/// <summary>
/// The calls on sockets for which .NET has no API that neither waits nor throws, such as accepting and ending. The
/// class has no state.
/// </summary>
internal static unsafe class SocketCalls
{
    private const int SocketNonblockCloexec = LinuxNative.ONonblock | LinuxNative.OCloexec;
    private const int ShutBoth = 2;
    private const int LimitOfDescriptors = 7;
    private const int SoSndbuf = 7;
    private const int SoOobInline = 10;
    private const int SoPassrights = 83;

    private static int s_lacksPassrights;

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
    public static Socket? TryAccept(Socket listening, out int errno)
    {
        int descriptor = LinuxNative.Accept4(listening.SafeHandle, 0, 0, SocketNonblockCloexec);
        errno = descriptor < 0 ? Marshal.GetLastPInvokeError() : 0;
        if (descriptor < 0)
        {
            return null;
        }

        var socket = new Socket(new SafeSocketHandle(descriptor, ownsHandle: true));
        ReadUrgentInline(socket);
        return socket;
    }

    /// <summary>
    /// Lets urgent data (MSG_OOB) be read like other data. Otherwise a receive drops it with its descriptors, whose
    /// close may take as long as the peer likes, and peeking does not show them.
    /// </summary>
    public static void ReadUrgentInline(Socket socket)
    {
        // The option exists on every kernel; one without urgent data on Unix sockets refuses to send such data.
        int yes = 1;
        _ = LinuxNative.SetSocketOption(socket.SafeHandle, LinuxNative.SolSocket, SoOobInline, &yes, sizeof(int));
    }

    /// <summary>
    /// Returns whether a socket that was shut down holds nothing unread, and so no descriptor of the peer.
    /// </summary>
    public static bool IsDrained(Socket socket)
    {
        try
        {
            return socket.Available == 0;
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            return false; // A listening socket does not tell.
        }
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

    /// <summary>Returns a second descriptor of the socket, which the caller closes; -1 if none is free.</summary>
    public static int Duplicate(Socket socket)
    {
        try
        {
            return LinuxNative.FCntl(socket.SafeHandle, LinuxNative.FDuplicateCloexec, 0);
        }
        catch (ObjectDisposedException)
        {
            return -1;
        }
    }

    /// <summary>Returns the number of the socket's descriptor. The kernel gives the lowest free one.</summary>
    public static int NumberOf(Socket socket) => (int)socket.SafeHandle.DangerousGetHandle();

    /// <summary>
    /// Lets the kernel refuse further descriptors to this socket at their sender (SO_PASSRIGHTS, Linux 6.16). An older
    /// kernel passes them on.
    /// </summary>
    public static void RefuseDescriptors(Socket socket)
    {
        if (Volatile.Read(ref s_lacksPassrights) != 0)
        {
            return;
        }

        int no = 0;
        if (LinuxNative.SetSocketOption(socket.SafeHandle, LinuxNative.SolSocket, SoPassrights, &no, sizeof(int)) != 0)
        {
            Volatile.Write(ref s_lacksPassrights, 1);
        }
    }

    /// <summary>
    /// Limits the memory of what this side sends and the peer does not read. The kernel counts twice the bytes, and its
    /// own effort: about 0.8 KiB for a message of one byte.
    /// </summary>
    public static void LimitUnread(Socket socket, int bytes) =>
        _ = LinuxNative.SetSocketOption(socket.SafeHandle, LinuxNative.SolSocket, SoSndbuf, &bytes, sizeof(int));

    /// <summary>Whether the kernel refuses descriptors to the sockets that ask for it.</summary>
    public static bool CanRefuseDescriptors => Volatile.Read(ref s_lacksPassrights) == 0;

    /// <summary>
    /// Sends one byte without waiting. If the socket's buffer is full or the peer is gone, nothing is sent. Returns 0,
    /// or the errno of a system that lacks memory for the byte.
    /// </summary>
    public static int SendByte(Socket socket, byte value)
    {
        try
        {
            return LinuxNative.Send(socket.SafeHandle, &value, 1, LinuxNative.MsgDontwait | LinuxNative.MsgNosignal) < 0
                && Marshal.GetLastPInvokeError() is (LinuxNative.ErrnoENOBUFS or LinuxNative.ErrnoENOMEM) and var errno
                ? errno
                : 0;
        }
        catch (ObjectDisposedException)
        {
            return 0; // This side has closed the socket.
        }
    }

    /// <summary>
    /// Receives the available bytes of a socket to which no descriptors can come, without waiting. Returns 0 at the
    /// peer's end, and -1 if nothing is available or the socket has failed; <paramref name="errno"/> tells which.
    /// </summary>
    public static int ReceiveBytes(Socket socket, Span<byte> buffer, out int errno)
    {
        fixed (byte* bytes = buffer)
        {
            int received =
                (int)LinuxNative.Recv(socket.SafeHandle, bytes, (nuint)buffer.Length, LinuxNative.MsgDontwait);
            errno = received < 0 ? Marshal.GetLastPInvokeError() : 0;
            return received;
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
