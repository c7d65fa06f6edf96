using System.Net.Sockets;
using RpcOverShm.Diagnostics;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The server's side of the rendezvous: takes the address's lock, binds the socket, accepts clients and shakes hands
/// with many of them at a time, so that a slow or hostile one holds up nobody. Each finished link goes to the owner.
/// The owner disposes the listener, which removes the address's files.
/// </summary>
internal sealed class Listener : IAsyncDisposable
{
    // Handshakes at a time; more clients wait in the kernel's queue.
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
        RendezvousLock held,
        Socket socket,
        Action<PeerLink> onConnected)
    {
        _address = address;
        _settings = settings;
        _lock = held;
        _socket = socket;
        _onConnected = onConnected;
        _accepting = AcceptAsync();
    }

    /// <summary>Takes an address and listens on it.</summary>
    /// <param name="address">Where to listen.</param>
    /// <param name="settings">What to offer each client.</param>
    /// <param name="onConnected">Called for each finished link, on any thread; owns the link.</param>
    /// <exception cref="ConnectException">
    /// The address is held by a live server, or the system refused a step.
    /// </exception>
    /// <exception cref="PlatformNotSupportedException">There is no transport for this system.</exception>
    public static Listener Start(RendezvousAddress address, ConnectionSettings settings, Action<PeerLink> onConnected)
    {
        if (!settings.IsPlatformSupported)
        {
            throw ConnectionSettings.NotSupported();
        }

        RendezvousLock? held = null;
        Socket? socket = null;
        try
        {
            if (address.IsInRuntimeDirectory)
            {
                RuntimeDirectory.Ensure(Path.GetDirectoryName(address.SocketPath)!);
            }

            held = RendezvousLock.TryTake(address.LockPath, out int? holder);
            if (held is null)
            {
                string other = holder is { } id ? $"process {id}" : "another process";
                string who = holder == Environment.ProcessId ? "this process" : other;
                throw new ConnectException(
                    ConnectFailure.AddressInUse,
                    $"A server of {who} already listens at '{address.SocketPath}' ({address.Text}): "
                    + "stop that one first, or take another address.");
            }

            RemoveStaleSocket(address);
            socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

            // CRASH rendezvous-locked: a lock file without a socket remains. The kernel has freed the lock: the next
            // server takes it, and clients see that nobody listens.
            CrashPoint.Reach(CrashPoint.RendezvousLocked);
            socket.Bind(new UnixDomainSocketEndPoint(address.SocketPath));

            // CRASH rendezvous-bound: a socket that refuses every client remains. The next server
            // removes it under the lock.
            CrashPoint.Reach(CrashPoint.RendezvousBound);
            File.SetUnixFileMode(address.SocketPath, UnixFileMode.UserRead | UnixFileMode.UserWrite);
            socket.Listen(Backlog);
            var listener = new Listener(address, settings, held, socket, onConnected);
            held = null;
            socket = null;
            return listener;
        }
        catch (Exception exception) when (exception is IOException or SocketException or UnauthorizedAccessException)
        {
            throw new ConnectException(
                ConnectFailure.SystemError,
                $"Cannot listen at '{address.SocketPath}' ({address.Text}): {exception.Message}",
                exception);
        }
        finally
        {
            socket?.Dispose();
            held?.Dispose();
        }
    }

    /// <summary>Stops accepting and removes the files. Links already handed over live on.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_stopping.IsCancellationRequested)
        {
            return;
        }

        await _stopping.CancelAsync().ConfigureAwait(false);
        _socket.Dispose();
        await _accepting.ConfigureAwait(false);

        // Waiting for all places means that no handshake is under way any more; each is bounded by its own time-out.
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
    /// With the lock held no live server of this kind is at the address, but another program may be: only a socket that
    /// refuses connections is removed.
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
                ConnectFailure.AddressInUse,
                $"'{address.SocketPath}' ({address.Text}) exists and is no socket; it was left alone.");
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
            // Whoever is there is alive, if busy.
        }

        throw new ConnectException(
            ConnectFailure.AddressInUse,
            $"Another program already listens at '{address.SocketPath}' ({address.Text}).");
    }

    private async Task AcceptAsync()
    {
        // The constructor does not run the first accept.
        await Task.Yield();
        while (!_stopping.IsCancellationRequested)
        {
            try
            {
                await _pending.WaitAsync(_stopping.Token).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                return;
            }

            Socket? client = await AcceptOneAsync().ConfigureAwait(false);
            if (client is null)
            {
                _pending.Release();
                continue;
            }

            _ = ShakeHandsAsync(client);
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
                // Out of descriptors, most likely: others may be closed meanwhile, and a hot loop would help nobody.
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
            // One client's failure is its own: the listener goes on.
            ShmLog.HandshakeFailed(_settings.Logger, _address.Text, exception.Message, exception);
        }
        finally
        {
            _pending.Release();
        }
    }
}
