using System.Net.Sockets;
using RpcOverShm.Diagnostics;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The server's end of an address: takes the lock, binds the socket and accepts clients. Many handshakes run at a time,
/// so a slow or hostile client does not delay the others. A callback takes each finished link. Disposing the listener
/// removes the files of the address.
/// </summary>
internal sealed class Listener : IAsyncDisposable
{
    // The maximum number of handshakes at a time; further clients wait in the backlog.
    private const int MaxPendingHandshakes = 64;
    private const int Backlog = 512;
    private static readonly TimeSpan s_pauseAfterAcceptFailure = TimeSpan.FromMilliseconds(50);

    private readonly RendezvousAddress _address;
    private readonly ConnectionSettings _settings;
    private readonly Action<PeerLink> _onConnected;
    private readonly RendezvousLock _lock;
    private readonly Socket _socket;
    private readonly SemaphoreSlim _pending = new(MaxPendingHandshakes);
    private readonly CancellationTokenSource _stopping = new();
    private readonly Task _accepting;

    private Listener(
        RendezvousAddress address,
        ConnectionSettings settings,
        RendezvousLock addressLock,
        Socket socket,
        Action<PeerLink> onConnected)
    {
        _address = address;
        _settings = settings;
        _lock = addressLock;
        _socket = socket;
        _onConnected = onConnected;
        _accepting = AcceptAsync();
    }

    /// <summary>
    /// Listens at an address. Calls <paramref name="onConnected"/> with each finished link, on any thread; the callback
    /// owns the link.
    /// </summary>
    /// <exception cref="ConnectException">
    /// Another server or program holds the address, or the operating system refused a step.
    /// </exception>
    /// <exception cref="PlatformNotSupportedException">There is no transport for this system.</exception>
    public static Listener Start(RendezvousAddress address, ConnectionSettings settings, Action<PeerLink> onConnected)
    {
        if (!settings.IsPlatformSupported)
        {
            throw ConnectionSettings.NotSupported();
        }

        RendezvousLock? addressLock = null;
        Socket? socket = null;
        try
        {
            if (address.IsInRuntimeDirectory)
            {
                RuntimeDirectory.Ensure(Path.GetDirectoryName(address.SocketPath)!);
            }

            addressLock = RendezvousLock.TryTake(address.LockPath, out int? holder);
            if (addressLock is null)
            {
                string other = holder is { } id ? $"process {id}" : "another process";
                string who = holder == Environment.ProcessId ? "this process" : other;
                throw new ConnectException(
                    ConnectFailure.AddressInUse,
                    $"A server of {who} already listens at {address.Name}: "
                    + "stop that one first, or take another address.");
            }

            RemoveStaleSocket(address);
            socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

            // CRASH rendezvous-locked: a lock file without a socket remains. The kernel has released the lock, so the
            // next server takes it; clients fail with NotListening.
            CrashPoint.Reach(CrashPoint.RendezvousLocked);
            socket.Bind(new UnixDomainSocketEndPoint(address.SocketPath));

            // CRASH rendezvous-bound: a socket remains that refuses every client. The next server removes it under
            // the lock.
            CrashPoint.Reach(CrashPoint.RendezvousBound);
            File.SetUnixFileMode(address.SocketPath, UnixFileMode.UserRead | UnixFileMode.UserWrite);
            socket.Listen(Backlog);
            var listener = new Listener(address, settings, addressLock, socket, onConnected);
            addressLock = null;
            socket = null;
            return listener;
        }
        catch (Exception exception) when (exception is IOException or SocketException or UnauthorizedAccessException)
        {
            throw new ConnectException(
                ConnectFailure.SystemError, $"Cannot listen at {address.Name}: {exception.Message}", exception);
        }
        finally
        {
            socket?.Dispose();
            addressLock?.Dispose();
        }
    }

    /// <summary>Stops accepting and removes the files. Finished links stay open.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_stopping.IsCancellationRequested)
        {
            return;
        }

        await _stopping.CancelAsync().ConfigureAwait(false);
        _socket.Dispose();
        await _accepting.ConfigureAwait(false);

        // Taking all places waits until no handshake is in progress; each one has its own time-out.
        for (int i = 0; i < MaxPendingHandshakes; i++)
        {
            await _pending.WaitAsync().ConfigureAwait(false);
        }

        RuntimeDirectory.Remove(_address.SocketPath);

        // CRASH rendezvous-unbound: a lock file without a socket remains, as after rendezvous-locked.
        CrashPoint.Reach(CrashPoint.RendezvousUnbound);
        _lock.Dispose();
        _pending.Dispose();
        _stopping.Dispose();
    }

    /// <summary>
    /// Removes the socket of a dead server. The lock excludes a live server of this library but not another program, so
    /// only a socket that refuses connections is removed.
    /// </summary>
    private static void RemoveStaleSocket(RendezvousAddress address)
    {
        if (FileFacts.OfPath(address.SocketPath) is not { } facts)
        {
            return;
        }

        if (!facts.IsSocket)
        {
            throw new ConnectException(
                ConnectFailure.AddressInUse, $"{address.Name} exists and is no socket; it was left alone.");
        }

        using var probe = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            probe.Blocking = false;
            probe.Connect(new UnixDomainSocketEndPoint(address.SocketPath));
        }
        catch (SocketException exception) when (exception.SocketErrorCode == SocketError.ConnectionRefused)
        {
            File.Delete(address.SocketPath);
            return;
        }
        catch (SocketException)
        {
            // Any other error may come from a live program, for example one whose backlog is full.
        }

        throw new ConnectException(
            ConnectFailure.AddressInUse, $"Another program already listens at {address.Name}.");
    }

    private async Task AcceptAsync()
    {
        // The first accept must not run inside the constructor.
        await Task.Yield();
        while (!_stopping.IsCancellationRequested)
        {
            // Stopping cancels the handshakes, which then release their places, so this wait ends too.
            await _pending.WaitAsync().ConfigureAwait(false);
            if (await AcceptOneAsync().ConfigureAwait(false) is { } client)
            {
                _ = ShakeHandsAsync(client);
            }
            else
            {
                _pending.Release();
            }
        }
    }

    private async Task<Socket?> AcceptOneAsync()
    {
        try
        {
            return await _socket.AcceptAsync(_stopping.Token).ConfigureAwait(false);
        }
        catch (Exception exception)
            when (exception is SocketException or OperationCanceledException or ObjectDisposedException)
        {
            if (!_stopping.IsCancellationRequested)
            {
                // Most likely the process is out of descriptors. The pause avoids a hot loop until some are closed.
                ShmLog.AcceptFailed(_settings.Logger, _address.Text, exception);
                await Task.Delay(s_pauseAfterAcceptFailure, _stopping.Token)
                    .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            }

            return null;
        }
    }

    private async Task ShakeHandsAsync(Socket client)
    {
        try
        {
            PeerLink? link = await ServerHandshake.ShakeHandsAsync(client, _settings, _stopping.Token)
                .ConfigureAwait(false);
            if (link is not null)
            {
                _onConnected(link);
            }
        }
        catch (Exception exception)
        {
            // The failure of one client's handshake must not stop the listener.
            ShmLog.HandshakeFailed(_settings.Logger, _address.Text, exception.Message, exception);
        }
        finally
        {
            _pending.Release();
        }
    }
}
