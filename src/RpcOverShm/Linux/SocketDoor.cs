using System.Net.Sockets;
using RpcOverShm.Diagnostics;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The listening socket, its file and the lock of an address. If the file or its directory was removed or replaced, or
/// clients now look elsewhere, it listens again where they look, unless that would take the place of another program.
/// One thread at a time checks, and may wait for the file system meanwhile; any thread ends it.
/// </summary>
internal sealed class ListeningFile
{
    /// <summary>The time between two checks of the file.</summary>
    public static readonly TimeSpan CheckInterval = TimeSpan.FromSeconds(1);

    private const int Backlog = 512;

    private readonly ConnectionSettings _settings;
    private readonly UninterruptibleLock _checkLock = new();
    private volatile RendezvousAddress _address;
    private RendezvousLock _lock; // changed under the lock, by a check
    private volatile Socket _socket;
    private SocketFile _file;
    private volatile bool _isEnded;
    private string? _problem; // the last one that was logged

    /// <summary>Listens at an address whose stale files are removed. Takes ownership of its lock on success.</summary>
    /// <exception cref="IOException">The operating system refused a step.</exception>
    public ListeningFile(RendezvousAddress address, ConnectionSettings settings, RendezvousLock addressLock)
    {
        _address = address;
        _settings = settings;
        _lock = addressLock;
        (_socket, _file) = Bind(address, settings.Access);
    }

    /// <summary>The address, with the paths of the files.</summary>
    public RendezvousAddress Address => _address;

    /// <summary>
    /// The listening socket; another one after <see cref="Check"/> has listened again. The doorman, who accepts from
    /// the former one, closes that.
    /// </summary>
    public Socket Socket => _socket;

    /// <summary>Checks that clients can find the socket, and listens again if its file has gone.</summary>
    public void Check()
    {
        try
        {
            RendezvousAddress now = Address.Resolve();
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

    /// <summary>Accepts no more clients. The files stay.</summary>
    public void EndListening()
    {
        using (_checkLock.Enter())
        {
            _isEnded = true;
            SocketCalls.ShutDown(_socket);
        }
    }

    /// <summary>Removes the files and releases the lock, after <see cref="EndListening"/>.</summary>
    public void Remove()
    {
        // The backlog may hold descriptors of clients.
        ForeignHandles.Shared.Close(_socket);
        _file.Dispose();

        // CRASH rendezvous-unbound: a lock file without a socket remains, as after rendezvous-locked.
        CrashPoint.Reach(CrashPoint.RendezvousUnbound);
        using (_checkLock.Enter())
        {
            _lock.Dispose();
        }
    }

    private static (Socket Socket, SocketFile File) Bind(RendezvousAddress address, AccessPolicy access)
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
            return (socket, file);
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

    private void ListenAgain(RendezvousAddress now)
    {
        now.Default?.ReportOnce(_settings.Logger);
        SocketFile.PrepareDirectory(now, _settings.Access);

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

            (Socket next, SocketFile file) = Bind(now, _settings.Access);
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
        DeferredLog.Write(_settings.Logger, log => ShmLog.ListeningAgain(log, now.Text, now.SocketPath));
    }

    private void Report(string problem)
    {
        if (problem != _problem && !_isEnded)
        {
            _problem = problem;
            DeferredLog.Write(
                _settings.Logger, log => ShmLog.SocketGone(log, Address.SocketPath, Address.Text, problem));
        }
    }
}
