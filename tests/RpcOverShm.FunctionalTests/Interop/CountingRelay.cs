using System.Net;
using System.Net.Sockets;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>Counts the bytes of connections and forwards them to another local socket.</summary>
internal sealed class CountingRelay : IAsyncDisposable
{
    private readonly Socket _listener;
    private readonly EndPoint _target;
    private readonly Task _accepting;
    private readonly List<Socket> _ends = [];
    private long _upBytes;
    private long _downBytes;

    public CountingRelay(EndPoint own, EndPoint target)
    {
        _target = target;
        _listener = SocketFor(own);
        _listener.Bind(own);
        _listener.Listen();
        _accepting = AcceptAsync();
    }

    public EndPoint EndPoint => _listener.LocalEndPoint!;

    /// <summary>The number of bytes to the target.</summary>
    public long UpBytes => Interlocked.Read(ref _upBytes);

    /// <summary>The number of bytes from the target.</summary>
    public long DownBytes => Interlocked.Read(ref _downBytes);

    public async ValueTask DisposeAsync()
    {
        _listener.Dispose();
        await _accepting;
        foreach (Socket end in _ends)
        {
            end.Dispose();
        }
    }

    private static Socket SocketFor(EndPoint end) =>
        new(end.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                Socket near = await _listener.AcceptAsync();
                Socket far = SocketFor(_target);
                _ends.Add(near);
                _ends.Add(far);
                await far.ConnectAsync(_target);
                _ = PassOnAsync(near, far, bytes => Interlocked.Add(ref _upBytes, bytes));
                _ = PassOnAsync(far, near, bytes => Interlocked.Add(ref _downBytes, bytes));
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The test is over, or the target has stopped listening.
        }
    }

    private static async Task PassOnAsync(Socket from, Socket to, Action<int> count)
    {
        byte[] buffer = new byte[64 << 10];
        try
        {
            int bytes;
            while ((bytes = await from.ReceiveAsync(buffer)) > 0)
            {
                count(bytes);
                for (int sent = 0; sent < bytes;)
                {
                    sent += await to.SendAsync(buffer.AsMemory(sent, bytes - sent));
                }
            }

            to.Shutdown(SocketShutdown.Send);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // One end has closed; closing the other socket passes that on.
            to.Dispose();
        }
    }
}
