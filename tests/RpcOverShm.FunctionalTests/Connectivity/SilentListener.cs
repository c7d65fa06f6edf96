using System.Net.Sockets;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>A foreign program at an address: it accepts clients and sends at most a greeting.</summary>
internal sealed class SilentListener : IDisposable
{
    private readonly Socket _socket;
    private readonly TaskCompletionSource _accepted = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly List<Socket> _clients = [];
    private readonly byte[]? _greeting;

    public SilentListener(string path, byte[]? greeting = null)
    {
        _greeting = greeting;
        _socket = UnixSockets.Listen(path);
        _ = AcceptAsync();
    }

    /// <summary>Completes with the first client.</summary>
    public Task Accepted => _accepted.Task;

    public int ClientCount
    {
        get
        {
            lock (_clients)
            {
                return _clients.Count;
            }
        }
    }

    public void Dispose()
    {
        string? path = (_socket.LocalEndPoint as UnixDomainSocketEndPoint)?.ToString();
        _socket.Dispose();
        lock (_clients)
        {
            _clients.ForEach(client => client.Dispose());
        }

        if (path is not null)
        {
            File.Delete(path);
        }
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                Socket client = await _socket.AcceptAsync();
                lock (_clients)
                {
                    _clients.Add(client);
                }

                if (_greeting is not null)
                {
                    await client.SendAsync(_greeting);
                }

                _accepted.TrySetResult();
            }
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The test has ended.
        }
    }
}
