using System.Net.Sockets;
using System.Runtime.Versioning;
using RpcOverShm.Diagnostics;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The listening socket, its file and the lock of an address. If the file or its directory was removed or replaced, it
/// listens there again, unless that would take the place of another program. The doorman checks; any thread ends it.
/// </summary>
internal sealed class ListeningFile
{
    /// <summary>The time between two checks of the file.</summary>
    public static readonly TimeSpan CheckInterval = TimeSpan.FromSeconds(1);

    private const int Backlog = 512;

    private readonly ConnectionSettings _settings;
    private readonly Lock _gate = new();
    private readonly List<RendezvousLock> _locks = []; // the last is the one of the file
    private volatile Socket _socket;
    private SocketFile _file;
    private bool _isEnded;
    private string? _problem; // the last one that was logged

    /// <summary>Listens at an address whose stale files are removed. Takes ownership of its lock on success.</summary>
    /// <exception cref="IOException">The operating system refused a step.</exception>
    public ListeningFile(RendezvousAddress address, ConnectionSettings settings, RendezvousLock addressLock)
    {
        Address = address;
        _settings = settings;
        (_socket, _file) = Bind(address, settings.Access);
        _locks.Add(addressLock);
    }

    public RendezvousAddress Address { get; }

    /// <summary>The listening socket; another one after <see cref="Check"/> has listened again.</summary>
    public Socket Socket => _socket;

    /// <summary>Checks that clients can find the socket, and listens again if its file has gone.</summary>
    public void Check()
    {
        try
        {
            if (_file.IsInPlace)
            {
                _problem = null;
            }
            else if (FileFacts.OfPath(Address.SocketPath) is not null)
            {
                Report("another file is there, which was left alone");
            }
            else
            {
                ListenAgain();
            }
        }
        catch (Exception exception)
            when (exception is ConnectException or IOException or SocketException or UnauthorizedAccessException)
        {
            Report(exception.Message);
        }
    }

    /// <summary>Wakes the doorman and accepts no more clients. The files stay.</summary>
    public void EndListening()
    {
        lock (_gate)
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
        lock (_gate)
        {
            _locks.ForEach(held => held.Dispose());
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
                // Left there, it would look like the file of another program at the next attempt.
                File.Delete(address.SocketPath);
            }

            throw;
        }
    }

    private void ListenAgain()
    {
        if (!_settings.IsPlatformSupported || !TryHoldLock())
        {
            Report("another server has taken the address");
            return;
        }

        (Socket next, SocketFile file) = Bind(Address, _settings.Access);
        lock (_gate)
        {
            if (_isEnded)
            {
                next.Dispose();
                file.Dispose();
                return;
            }

            ForeignHandles.Shared.Close(_socket);
            _file.Dispose();
            (_socket, _file) = (next, file);
        }

        _problem = null;
        DeferredLog.Write(
            _settings.Logger, log => ShmLog.ListeningAgain(log, Address.SocketPath, Address.Text));
    }

    /// <summary>
    /// Makes sure that the lock file at the address is the one that this listener has locked. If its directory was
    /// removed, another server may have locked another file there meanwhile.
    /// </summary>
    [SupportedOSPlatform("linux")]
    private bool TryHoldLock()
    {
        SocketFile.PrepareDirectory(Address, _settings.Access);
        var taken = RendezvousLock.TryTake(Address.LockPath, out int? holder);
        lock (_gate)
        {
            if (taken is null || _isEnded)
            {
                taken?.Dispose();
                return taken is null && holder == Environment.ProcessId && !_isEnded;
            }

            // The earlier lock is kept: to dispose it would remove the file of the new one.
            _locks.Add(taken);
            return true;
        }
    }

    private void Report(string problem)
    {
        if (problem != _problem)
        {
            _problem = problem;
            DeferredLog.Write(
                _settings.Logger, log => ShmLog.SocketGone(log, Address.SocketPath, Address.Text, problem));
        }
    }
}
