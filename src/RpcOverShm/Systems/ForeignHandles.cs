using System.Diagnostics;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Systems;

/// <summary>
/// Closes what a peer has passed, and the wires that may hold such handles unread, on threads of its own that
/// nobody waits for. Such a close may take as long as the peer likes: that of a TCP socket waits for SO_LINGER, that of
/// a file on FUSE for the peer's answer. Any thread may use it.
/// </summary>
internal sealed class ForeignHandles : IThreadPoolWorkItem
{
    /// <summary>The maximum number of closes at a time. Each one that hangs keeps a thread.</summary>
    public const int MaxThreads = 8;

    /// <summary>The number of handles that wait for a thread, from which on listeners accept no more clients.</summary>
    public const int MaxWaiting = 1024;

    private const int StackBytes = 128 << 10;

    // A close that takes longer gets a second thread beside it.
    private static readonly TimeSpan s_stuckAfter = TimeSpan.FromMilliseconds(20);
    private static readonly TimeSpan s_linger = TimeSpan.FromSeconds(5);

    // Closes what cannot hang.
    private static readonly ForeignHandles s_harmless = new();

    private readonly UninterruptibleLock _lock = new();
    private readonly Queue<IDisposable> _waiting = new();
    private int _threads;      // all
    private int _closing;      // those with a handle
    private long _lastTakenAt; // timestamp

    /// <summary>The one of this process.</summary>
    public static ForeignHandles Shared { get; } = new();

    /// <summary>Whether so many handles wait that the process takes no more from its peers.</summary>
    public bool IsFull => Waiting >= MaxWaiting;

    /// <summary>The number of handles that no thread has taken yet.</summary>
    public int Waiting
    {
        get
        {
            using (_lock.Enter())
            {
                return _waiting.Count;
            }
        }
    }

    /// <summary>The number of closes that are in progress.</summary>
    public int Closing => Volatile.Read(ref _closing);

    /// <summary>Closes what a peer has passed, by a dispose of it. Returns at once.</summary>
    public void Close(IDisposable handle) => Add(handle);

    /// <summary>Closes what clients may have passed something to, such as a door. Returns at once.</summary>
    public void Close(Watchable watched) => Add(watched);

    /// <summary>
    /// Closes a wire. Returns at once; the peer sees the end at once, and operations in progress on the wire end. A
    /// wire without unread data does not wait behind closes that hang.
    /// </summary>
    public void Close(Wire wire)
    {
        // After this the peer can send nothing more.
        wire.ShutDown();
        (wire.IsDrained ? s_harmless : this).Add(wire);
    }

    private void Add(IDisposable handle)
    {
        using (_lock.Enter())
        {
            _waiting.Enqueue(handle);
            StartIfNoneIsFree();
            _lock.Pulse();
        }
    }

    void IThreadPoolWorkItem.Execute() => Run();

    private void Run()
    {
        bool hasClosed = false;
        while (Take(hasClosed) is { } handle)
        {
            Release(handle);
            hasClosed = true;
            using (_lock.Enter())
            {
                _closing--;
            }
        }
    }

    /// <summary>
    /// Returns the next handle; null if the thread ends. A thread that has just closed one takes the next. A thread
    /// that comes from waiting leaves the next to a busy one, unless that one is stuck.
    /// </summary>
    private IDisposable? Take(bool hasClosed)
    {
        using (_lock.Enter())
        {
            while (true)
            {
                if (_waiting.Count == 0)
                {
                    hasClosed = false;
                    if (!_lock.WaitOnOwnThread(s_linger) && _waiting.Count == 0)
                    {
                        _threads--;
                        return null;
                    }

                    continue;
                }

                TimeSpan patience = s_stuckAfter - Stopwatch.GetElapsedTime(_lastTakenAt);
                if (hasClosed || _closing == 0 || patience <= TimeSpan.Zero)
                {
                    break;
                }

                _lock.WaitOnOwnThread(patience + TimeSpan.FromMilliseconds(1));
            }

            _closing++;
            _lastTakenAt = Stopwatch.GetTimestamp();
            IDisposable handle = _waiting.Dequeue();
            if (_waiting.Count > 0)
            {
                StartIfNoneIsFree();
            }

            return handle;
        }
    }

    // Under the lock.
    private void StartIfNoneIsFree()
    {
        if (_threads > _closing || _threads == MaxThreads)
        {
            return;
        }

        _threads++;
        try
        {
            if (BackgroundThread.TryStart(Run, "RpcOverShm closing", StackBytes) is not null)
            {
                // The pool's threads exist already; without one of its own, a handle would never be closed.
                PoolWork.Queue(this);
            }
        }
        catch (OutOfMemoryException)
        {
            // A thread without a handle may be a closing one, which an exception would end with its process. The handle
            // waits for a thread that is there, or until the next one comes.
            _threads--;
        }
    }

    private static void Release(IDisposable handle)
    {
        try
        {
            handle.Dispose();
        }
        catch (IOException)
        {
            // Nobody is left to tell.
        }
    }
}
