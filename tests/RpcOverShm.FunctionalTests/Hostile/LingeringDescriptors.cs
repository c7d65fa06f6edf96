using System.Net;
using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Descriptors whose last close lasts: TCP sockets on loopback that linger over data which nobody takes. The thread
/// that closes the last descriptor of one waits, until the connection is reset or the time is over.
/// </summary>
internal sealed class LingeringDescriptors : IDisposable
{
    private const int LingerSeconds = 20;

    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
    {
        ReceiveBufferSize = 4096,
    };

    private readonly List<Socket> _unread = [];

    public LingeringDescriptors()
    {
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen();
    }

    /// <summary>Creates one. The caller passes it on and then closes it; that close does not last.</summary>
    public SafeFileHandle Create()
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
        {
            SendBufferSize = 4096,
        };
        socket.Connect(_listener.LocalEndPoint!);
        _unread.Add(_listener.Accept());
        socket.Blocking = false;
        byte[] bytes = new byte[64 << 10];
        SocketError error = SocketError.Success;
        while (error == SocketError.Success)
        {
            // Until neither side has room.
            socket.Send(bytes, SocketFlags.None, out error);
        }

        socket.LingerState = new LingerOption(true, LingerSeconds);

        // The number leaves the object, which otherwise would end the connection when it is disposed.
        int number = (int)socket.SafeHandle.DangerousGetHandle();
        socket.SafeHandle.SetHandleAsInvalid();
        return new SafeFileHandle(number, ownsHandle: true);
    }

    /// <summary>Resets all connections, which ends the closes that wait.</summary>
    public void Reset()
    {
        foreach (Socket socket in _unread)
        {
            socket.LingerState = new LingerOption(true, 0);
            socket.Dispose();
        }

        _unread.Clear();
    }

    public void Dispose()
    {
        Reset();
        _listener.Dispose();
    }
}
