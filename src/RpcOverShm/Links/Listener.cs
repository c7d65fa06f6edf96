using System.Diagnostics;
using System.Net.Sockets;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Links;

/// <summary>
/// The server's end of an address: takes the lock, binds the socket and lets a doorman accept clients. A callback takes
/// each finished link. Disposing the listener removes the files of the address.
/// </summary>
internal sealed class Listener : IAsyncDisposable
{
    // The doorman waits for nobody, so it ends at once; this bound is for a machine without time for it, or a disk that
    // does not answer.
    private static readonly TimeSpan s_longestStop = TimeSpan.FromSeconds(5);

    // How long a start waits for a lock whose holder has no socket: it removes a dead server's files, or begins or ends
    // to listen, which takes less than a millisecond; this bound is for a machine without time for it.
    private static readonly TimeSpan s_longestHold = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(1);

    private readonly ListeningFile _file;
    private readonly Doorman _doorman;
    private int _isDisposed;

    private Listener(ListeningFile file, Doorman doorman)
    {
        _file = file;
        _doorman = doorman;
    }

    /// <summary>The path of the socket, at which clients find it now.</summary>
    public string SocketPath => _file.Address.SocketPath;

    /// <summary>
    /// Listens at an address. Calls <paramref name="onConnected"/> with each finished link, on the loop of the doors,
    /// so it must neither wait nor run user code; the callback owns the link.
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
            address = address.Resolve();
            address.Default?.ReportOnce(settings.Logger);
            SocketFile.PrepareDirectory(address, settings.Access);
            addressLock = TakeLock(address);
            ClearPath(address);
            file = new ListeningFile(address, settings, addressLock);
            var doorman = new Doorman(file, settings, onConnected);
            if (doorman.TryStart() is { } problem)
            {
                throw new ConnectException(
                    ConnectFailure.SystemError, $"Cannot listen at {address.Name}: {problem}");
            }

            var listener = new Listener(file, doorman);
            addressLock = null;
            file = null;
            if (address.IsInRuntimeDirectory)
            {
                RemoveDead(address, settings);
            }

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

    // A holder without a socket is no server, or not yet, or not any more.
    private static RendezvousLock TakeLock(RendezvousAddress address)
    {
        long start = Stopwatch.GetTimestamp();
        var pause = new UninterruptibleLock();
        while (true)
        {
            if (RendezvousLock.TryTake(address.LockPath, out int? holder) is { } taken)
            {
                return taken;
            }

            if (SocketFile.StateOf(address.SocketPath) is SocketPathState.Live or SocketPathState.Other
                || Stopwatch.GetElapsedTime(start) > s_longestHold)
            {
                string other = holder is { } id ? $"process {id}" : "another process";
                string who = holder == Environment.ProcessId ? "this process" : other;
                throw new ConnectException(
                    ConnectFailure.AddressInUse,
                    $"A server of {who} already listens at {address.Name}: "
                    + "stop that one first, or take another address.");
            }

            using (pause.Enter())
            {
                pause.Wait(s_pause);
            }
        }
    }

    private static void ClearPath(RendezvousAddress address)
    {
        string? problem = SocketFile.ClearPath(address.SocketPath) switch
        {
            SocketPathState.Other => $"{address.Name} exists and is no socket; it was left alone.",
            SocketPathState.Live => $"Another program already listens at {address.Name}.",
            _ => null,
        };
        if (problem is not null)
        {
            throw new ConnectException(ConnectFailure.AddressInUse, problem);
        }
    }

    private static void RemoveDead(RendezvousAddress address, ConnectionSettings settings)
    {
        string directory = Path.GetDirectoryName(address.SocketPath)!;
        int removed = NamesInDirectory.RemoveDead(directory);
        if (removed > 0)
        {
            DeferredLog.Write(settings.Logger, log => ShmLog.DeadServersRemoved(log, removed, directory));
        }
    }
}
