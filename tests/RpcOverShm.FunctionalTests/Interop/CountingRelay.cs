using System.Net;
using System.Net.Sockets;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>Passes the bytes of TCP connections on to another port of this machine, and counts them before.</summary>
internal sealed class CountingRelay : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly int _target;
    private readonly Task _accepting;
    private readonly List<TcpClient> _ends = [];
    private long _upBytes;
    private long _downBytes;

    public CountingRelay(int target)
    {
        _target = target;
        _listener.Start();
        _accepting = AcceptAsync();
    }

    public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>Bytes that went to the target.</summary>
    public long UpBytes => Interlocked.Read(ref _upBytes);

    /// <summary>Bytes that came from the target.</summary>
    public long DownBytes => Interlocked.Read(ref _downBytes);

    public async ValueTask DisposeAsync()
    {
        _listener.Stop();
        await _accepting;
        foreach (TcpClient end in _ends)
        {
            end.Dispose();
        }
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                TcpClient near = await _listener.AcceptTcpClientAsync();
                var far = new TcpClient();
                _ends.Add(near);
                _ends.Add(far);
                await far.ConnectAsync(IPAddress.Loopback, _target);
                _ = PassOnAsync(near, far, bytes => Interlocked.Add(ref _upBytes, bytes));
                _ = PassOnAsync(far, near, bytes => Interlocked.Add(ref _downBytes, bytes));
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The test is over, or nobody listens at the target any more.
        }
    }

    private static async Task PassOnAsync(TcpClient from, TcpClient to, Action<int> count)
    {
        byte[] buffer = new byte[64 << 10];
        try
        {
            int bytes;
            while ((bytes = await from.GetStream().ReadAsync(buffer)) > 0)
            {
                count(bytes);
                await to.GetStream().WriteAsync(buffer.AsMemory(0, bytes));
            }

            to.Client.Shutdown(SocketShutdown.Send);
        }
        catch (Exception exception) when (exception is IOException or SocketException or ObjectDisposedException)
        {
            // One end is gone, and the other one hears of it by its own end.
            to.Dispose();
        }
    }
}
