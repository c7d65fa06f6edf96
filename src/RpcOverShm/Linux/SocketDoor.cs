using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// The listening socket, its file and the lock of an address. If the file or its directory was removed or replaced, or
/// clients now look elsewhere, it listens again where they look, unless that would take the place of another program.
/// One thread at a time checks, and may wait for the file system meanwhile; any thread ends it.
/// </summary>
internal sealed class SocketDoor : Door
{
    private const int Backlog = 512;

    // How long a start waits for a lock whose holder has no socket: it removes a dead server's files, or begins or ends
    // to listen, which takes less than a millisecond; this bound is for a machine without time for it.
    private static readonly TimeSpan s_longestHold = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(1);

    private readonly AccessPolicy _access;
    private readonly ILogger _logger;
    private readonly UninterruptibleLock _checkLock = new();
    private volatile SocketAddress _address;
    private RendezvousLock _lock; // changed under the lock, by a check
    private volatile ListeningSocket _socket;
    private SocketFile _file;
    private SafeFileHandle? _spare; // given up to accept one client when no descriptor is free
    private volatile bool _isEnded;
    private string? _problem; // the last one that was logged

    /// <summary>Listens at an address whose stale files are removed. Takes ownership of its lock on success.</summary>
    /// <exception cref="IOException">The operating system refused a step.</exception>
    public SocketDoor(SocketAddress address, AccessPolicy access, ILogger logger, RendezvousLock addressLock)
    {
        _address = address;
        _access = access;
        _logger = logger;
        _lock = addressLock;
        (_socket, _file) = Bind(address, access);
    }

    /// <summary>The address, with the paths of the files.</summary>
    public override SocketAddress Address => _address;

    public override Watchable Listening => _socket;

    /// <summary>Listens at an address; removes what dead servers have left.</summary>
    /// <exception cref="ConnectException">Another server or program has the address.</exception>
    /// <exception cref="IOException">The operating system refused a step.</exception>
    public static SocketDoor Open(SocketAddress address, AccessPolicy access, ILogger logger)
    {
        RendezvousLock? addressLock = null;
        try
        {
            address.Default?.ReportOnce(logger);
            SocketFile.PrepareDirectory(address, access);
            addressLock = TakeLock(address);
            ClearPath(address);
            var door = new SocketDoor(address, access, logger, addressLock);
            addressLock = null;
            if (address.IsInRuntimeDirectory)
            {
                RemoveDead(address, logger);
            }

            return door;
        }
        catch (SocketException exception)
        {
            throw new IOException(exception.Message, exception);
        }
        finally
        {
            addressLock?.Dispose();
        }
    }

    // Clients find the socket, or it listens again because its file has gone.
    public override void Check()
    {
        try
        {
            SocketAddress now = Address.Resolve();
            if (now.SocketPath == Address.SocketPath && _file.IsInPlace)
            {
                _problem = null;
            }
            else
            {
                ListenAgain(now);
            }
        }
        catch (Exception exception)
            when (exception is IOException or SocketException or UnauthorizedAccessException)
        {
            Report(exception.Message);
        }
    }

    public override Wire? TryAccept(Watchable listening, out AcceptOutcome outcome, out Exception? failure)
    {
        failure = null;
        if (((ListeningSocket)listening).TryAccept(out int errno) is { } wire)
        {
            outcome = AcceptOutcome.Accepted;
            return wire;
        }

        outcome = errno switch
        {
            LinuxNative.ErrnoEAGAIN => AcceptOutcome.NoneWaits,
            LinuxNative.ErrnoEMFILE or LinuxNative.ErrnoENFILE => AcceptOutcome.NoHandleFree,
            LinuxNative.ErrnoEINTR => AcceptOutcome.Interrupted,
            _ => AcceptOutcome.Failed,
        };
        failure = outcome == AcceptOutcome.Failed ? new SocketException(errno) : null;
        return null;
    }

    // At the first turn, and after the spare was given up.
    public override void KeepSpare() => _spare ??= SocketCalls.TryOpenSpare();

    public override Wire? TryAcceptWithSpare(Watchable listening)
    {
        _spare?.Dispose();
        _spare = null;
        return ((ListeningSocket)listening).TryAccept(out _);
    }

    // Clients hear of the end at once. The backlog may hold descriptors of theirs.
    public override void CloseFormer(Watchable former)
    {
        ((ListeningSocket)former).ShutDown();
        ForeignHandles.Shared.Close(former);
    }

    // The files stay.
    public override void EndListening()
    {
        using (_checkLock.Enter())
        {
            _isEnded = true;
            _socket.ShutDown();
        }
    }

    public override void Remove()
    {
        _spare?.Dispose();
        CloseFormer(_socket);
        _file.Dispose();

        // CRASH rendezvous-unbound: a lock file without a socket remains, as after rendezvous-locked.
        CrashPoint.Reach(CrashPoint.RendezvousUnbound);
        using (_checkLock.Enter())
        {
            _lock.Dispose();
        }
    }

    // A holder without a socket is no server, or not yet, or not any more.
    private static RendezvousLock TakeLock(SocketAddress address)
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

    private static void ClearPath(SocketAddress address)
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

    private static void RemoveDead(SocketAddress address, ILogger logger)
    {
        string directory = Path.GetDirectoryName(address.SocketPath)!;
        int removed = NamesInDirectory.RemoveDead(directory);
        if (removed > 0)
        {
            DeferredLog.Write(logger, log => ShmLog.DeadServersRemoved(log, removed, directory));
        }
    }

    private static (ListeningSocket Socket, SocketFile File) Bind(SocketAddress address, AccessPolicy access)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        SocketFile? file = null;
        bool isBound = false;
        try
        {
            SocketFile.Restrict(socket);

            // CRASH rendezvous-locked: a lock file without a socket remains. The kernel has released the lock, so the
            // next server takes it; clients fail with NotListening.
            CrashPoint.Reach(CrashPoint.RendezvousLocked);
            SocketCalls.Bind(socket, address.SocketPath);
            isBound = true;

            // CRASH rendezvous-bound: a socket remains that refuses every client. The next server removes it under
            // the lock.
            CrashPoint.Reach(CrashPoint.RendezvousBound);
            file = SocketFile.Take(address.SocketPath, access);
            SocketCalls.Listen(socket, Backlog);
            socket.Blocking = false;
            return (new ListeningSocket(socket), file);
        }
        catch
        {
            socket.Dispose();
            file?.Dispose();
            if (isBound && file is null)
            {
                // It is dead now. A file that another program has put in its place stays.
                _ = SocketFile.ClearPath(address.SocketPath);
            }

            throw;
        }
    }

    private void ListenAgain(SocketAddress now)
    {
        now.Default?.ReportOnce(_logger);
        SocketFile.PrepareDirectory(now, _access);

        // If the directory was removed or replaced, another server may have locked another file there meanwhile.
        if ((_lock.IsAt(now.LockPath) ? _lock : RendezvousLock.TryTake(now.LockPath, out _)) is not { } held)
        {
            Report("another server has taken the address");
            return;
        }

        RendezvousLock notNeeded = held;
        try
        {
            switch (SocketFile.ClearPath(now.SocketPath))
            {
                case SocketPathState.Other:
                    Report("another file is there, which was left alone");
                    return;
                case SocketPathState.Live:
                    Report("another program listens there");
                    return;
            }

            (ListeningSocket next, SocketFile file) = Bind(now, _access);
            using (_checkLock.Enter())
            {
                if (_isEnded)
                {
                    next.Dispose();
                    file.Dispose();
                    return;
                }

                _file.Dispose();
                (_address, _socket, _file) = (now, next, file);
                (notNeeded, _lock) = (_lock, held);
            }
        }
        finally
        {
            if (notNeeded != _lock)
            {
                notNeeded.Dispose();
            }
        }

        _problem = null;
        DeferredLog.Write(_logger, log => ShmLog.ListeningAgain(log, now.Text, now.SocketPath));
    }

    private void Report(string problem)
    {
        if (problem != _problem && !_isEnded)
        {
            _problem = problem;
            DeferredLog.Write(
                _logger, log => ShmLog.SocketGone(log, Address.SocketPath, Address.Text, problem));
        }
    }

    /// <summary>A socket at which clients connect.</summary>
    private sealed class ListeningSocket(Socket socket) : Watchable
    {
        public override SafeHandle Handle => socket.SafeHandle;

        public override bool IsReadable(int timeoutMilliseconds) =>
            EpollPoll.IsReadable(socket.SafeHandle, timeoutMilliseconds);

        public SocketWire? TryAccept(out int errno) => SocketCalls.TryAccept(socket, out errno);

        public void ShutDown() => SocketCalls.ShutDown(socket);

        public override void Dispose() => SocketCalls.Close(socket);
    }
}
