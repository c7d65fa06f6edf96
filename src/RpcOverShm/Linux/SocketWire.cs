using System.Net.Sockets;
using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>A connected Unix socket.</summary>
internal sealed unsafe class SocketWire : Wire
{
    private const int SoSndbuf = 7;
    private const int SoOobInline = 10;
    private const int SoPeercred = 17;
    private const int SoPeergroups = 59;
    private const int SoPassrights = 83;

    // Most users are in a few groups; Linux allows 65536.
    private const int FewGroups = 64;
    private const int MostGroups = 65536;

    private static int s_lacksPassrights;

    private readonly Socket _socket;
    private bool _isRefusing; // descriptors, since the handshake
    private bool _isDrained;  // all that was sent before the kernel refused descriptors was read

    /// <summary>Takes a socket over.</summary>
    public SocketWire(Socket socket)
    {
        _socket = socket;

        // Urgent data (MSG_OOB) is read like other data. Otherwise a receive drops it with its descriptors, whose close
        // may take as long as the peer likes, and peeking does not show them. The option exists on every kernel; one
        // without urgent data on Unix sockets refuses to send such data.
        int yes = 1;
        _ = LinuxNative.SetSocketOption(socket.SafeHandle, LinuxNative.SolSocket, SoOobInline, &yes, sizeof(int));
    }

    /// <summary>Whether the kernel refuses descriptors to the sockets that ask for it.</summary>
    public static bool CanRefuseDescriptors => Volatile.Read(ref s_lacksPassrights) == 0;

    public override SafeHandle Handle => _socket.SafeHandle;

    public override int Number => (int)_socket.SafeHandle.DangerousGetHandle();

    // Less than what fits is all, but for urgent bytes: a receive stops before them.
    public override bool MustBeDrained => !_isDrained;

    public override bool IsAtEnd => DescriptorPassing.IsAtEnd(_socket.SafeHandle);

    public override bool IsDrained
    {
        get
        {
            try
            {
                return _socket.Available == 0;
            }
            catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
            {
                return false;
            }
        }
    }

    // SO_PEERCRED: at the time when the peer connected, or began to listen.
    public override PeerIdentity Peer
    {
        get
        {
            Span<byte> credentials = stackalloc byte[12];
            try
            {
                int length = _socket.GetRawSocketOption(LinuxNative.SolSocket, SoPeercred, credentials);
                if (length != credentials.Length)
                {
                    throw new IOException($"The kernel described the peer in {length} bytes.");
                }
            }
            catch (SocketException exception)
            {
                throw new IOException("The kernel does not say who the peer is.", exception);
            }

            ReadOnlySpan<uint> ids = MemoryMarshal.Cast<byte, uint>(credentials);
            return new PeerIdentity((int)ids[0], ids[1], ids[2]);
        }
    }

    // A further group, from Linux 4.13 on: at the time of the connect, like the rest of the identity.
    public override bool IsMember(Account group)
    {
        foreach (int count in (ReadOnlySpan<int>)[FewGroups, MostGroups])
        {
            byte[] groups = new byte[count * sizeof(uint)];
            try
            {
                int length = _socket.GetRawSocketOption(LinuxNative.SolSocket, SoPeergroups, groups);
                return MemoryMarshal.Cast<byte, uint>(groups.AsSpan(0, length)).Contains(group.Number);
            }
            catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ProtocolOption)
            {
                // An older kernel. The peer's own group is all that is known.
                return false;
            }
            catch (SocketException exception) when (count == MostGroups)
            {
                throw new IOException("The kernel does not say in which groups the peer is.", exception);
            }
            catch (SocketException)
            {
                // The groups did not fit into the smaller buffer.
            }
        }

        return false;
    }

    public override bool IsReadable(int timeoutMilliseconds) =>
        EpollPoll.IsReadable(_socket.SafeHandle, timeoutMilliseconds);

    public override void Send(ReadOnlySpan<byte> message, IReadOnlyList<SafeHandle> handles) =>
        DescriptorPassing.Send(_socket.SafeHandle, message, handles);

    // Once the kernel refuses descriptors to this socket, and those sent before are read, one system call is enough.
    public override int Receive(Span<byte> buffer, List<SafeHandle> handles)
    {
        if (_isDrained && CanRefuseDescriptors)
        {
            return ReceiveBytes(buffer);
        }

        int received = DescriptorPassing.Receive(_socket.SafeHandle, buffer, handles);
        _isDrained |= _isRefusing && received < 0;
        return received;
    }

    public override string? Ring(byte doorbell)
    {
        try
        {
            return LinuxNative.Send(
                _socket.SafeHandle, &doorbell, 1, LinuxNative.MsgDontwait | LinuxNative.MsgNosignal) < 0
                && Marshal.GetLastPInvokeError() is LinuxNative.ErrnoENOBUFS or LinuxNative.ErrnoENOMEM
                ? LinuxNative.LastErrorText()
                : null;
        }
        catch (ObjectDisposedException)
        {
            return null; // This side has closed the socket.
        }
    }

    // SO_PASSRIGHTS, Linux 6.16: the kernel refuses them at their sender. An older kernel passes them on.
    public override void RefuseHandles()
    {
        _isRefusing = true;
        int no = 0;
        if (CanRefuseDescriptors
            && LinuxNative.SetSocketOption(
                _socket.SafeHandle, LinuxNative.SolSocket, SoPassrights, &no, sizeof(int)) != 0)
        {
            Volatile.Write(ref s_lacksPassrights, 1);
        }
    }

    // The kernel counts twice the bytes, and its own effort: about 0.8 KiB for a message of one byte.
    public override void LimitUnread(int bytes) =>
        _ = LinuxNative.SetSocketOption(_socket.SafeHandle, LinuxNative.SolSocket, SoSndbuf, &bytes, sizeof(int));

    public override void ShutDown() => SocketCalls.ShutDown(_socket);

    public override WatchedProcess? OpenProcess(out string? problem) =>
        ProcessDescriptor.OfPeer(_socket, Peer.ProcessId, out problem);

    public override void Dispose() => SocketCalls.Close(_socket);

    // No descriptors can come.
    private int ReceiveBytes(Span<byte> buffer)
    {
        fixed (byte* bytes = buffer)
        {
            int received =
                (int)LinuxNative.Recv(_socket.SafeHandle, bytes, (nuint)buffer.Length, LinuxNative.MsgDontwait);
            return received >= 0 || Marshal.GetLastPInvokeError() is LinuxNative.ErrnoEAGAIN or LinuxNative.ErrnoEINTR
                ? received
                : throw new IOException($"Cannot read the socket: {LinuxNative.LastErrorText()}.");
        }
    }
}
