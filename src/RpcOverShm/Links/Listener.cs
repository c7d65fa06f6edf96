using System.Net.Sockets;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The server's end of an address: takes the lock, binds the socket and lets a doorman accept clients. A callback takes
/// each finished link. Disposing the listener removes the files of the address.
/// </summary>
internal sealed class Listener : IAsyncDisposable
{
    // The doorman waits for nobody, so it ends at once; this bound is for a machine without time for it.
    private static readonly TimeSpan s_longestStop = TimeSpan.FromSeconds(5);

    private readonly ListeningFile _file;
    private readonly Doorman _doorman;
    private int _isDisposed;

    private Listener(ListeningFile file, Doorman doorman)
    {
        _file = file;
        _doorman = doorman;
    }

    /// <summary>
    /// Listens at an address. Calls <paramref name="onConnected"/> with each finished link, on the doorman's thread, so
    /// it must neither wait nor run user code; the callback owns the link.
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
        ListeningFile? file = null;
        try
        {
            SocketFile.PrepareDirectory(address, settings.Access);
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
            file = new ListeningFile(address, settings, addressLock);
            var doorman = new Doorman(file, settings, onConnected);
            if (doorman.TryStart() is { } problem)
            {
                throw new ConnectException(
                    ConnectFailure.SystemError, $"Cannot listen at {address.Name}: {problem.Text}", problem.Exception);
            }

            var listener = new Listener(file, doorman);
            addressLock = null;
            file = null;
            return listener;
        }
        catch (Exception exception) when (exception is IOException or SocketException or UnauthorizedAccessException)
        {
            throw new ConnectException(
                ConnectFailure.SystemError, $"Cannot listen at {address.Name}: {exception.Message}", exception);
        }
        finally
        {
            if (file is not null)
            {
                file.Remove();
            }
            else
            {
                addressLock?.Dispose();
            }
        }
    }

    /// <summary>Stops accepting and removes the files. Finished links stay open.</summary>
    public async ValueTask DisposeAsync()
    {
        if (Interlocked.Exchange(ref _isDisposed, 1) != 0)
        {
            return;
        }

        _doorman.Stop();
        await _doorman.Ended.WaitAsync(s_longestStop).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        _file.Remove();
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
}
