using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// Watches the processes of peers, because a socket stays open as long as any process holds it, such as a child that
/// its dead owner left. One descriptor for each process serves all its connections. One thread for all sleeps until a
/// process ends; it starts with the first process, and ends when there was none for some seconds. Thread-safe.
/// </summary>
internal sealed class ProcessWatch(TimeSpan linger)
{
    private const string ThreadName = "RpcOverShm process watch";
    private const int StackBytes = 128 << 10;

    // The pause after a wait for which the kernel had no memory.
    private static readonly TimeSpan s_pauseAfterFailure = TimeSpan.FromSeconds(1);

    private readonly Gate _gate = new();
    private readonly Dictionary<ProcessKey, Watched> _joinable = [];
    private readonly List<Watched> _all = []; // only the thread removes entries and closes their descriptors
    private EventDescriptor? _wakeUp;         // null while no thread runs

    /// <summary>The watch of this process. Its thread outlives pauses between short connections.</summary>
    public static ProcessWatch Shared { get; } = new(TimeSpan.FromSeconds(5));

    /// <summary>
    /// Runs an action once when the process ends, also if it has ended already, on the watching thread; the action must
    /// not block. Takes the descriptor over. The result ends the watch; an action that is running may then still run.
    /// </summary>
    /// <returns>Null and the reason if there is no thread or no descriptor to be had.</returns>
    public IDisposable? TryWatch(ProcessDescriptor process, Action onExit, out string? problem)
    {
        using (_gate.Enter())
        {
            // Before Linux 6.9 the id is all there is, and it may be that of a new process.
            if (_joinable.TryGetValue(process.Key, out Watched? known) && !known.Process.HasExited)
            {
                process.Dispose();
                known.OnExit.Add(onExit);
                problem = null;
                return new Registration(this, known, onExit);
            }

            problem = EnsureRunning();
            if (problem is not null)
            {
                process.Dispose();
                return null;
            }

            var watched = new Watched(process, onExit);
            _joinable[process.Key] = watched;
            _all.Add(watched);
            _wakeUp!.Signal();
            return new Registration(this, watched, onExit);
        }
    }

    /// <summary>
    /// Watches the process at the other end of a socket, as <see cref="TryWatch"/> does. Returns null without a problem
    /// if that is this process, or if the socket is closed.
    /// </summary>
    public IDisposable? TryWatchPeer(Socket socket, int processId, Action onExit, out string? problem)
    {
        problem = null;
        try
        {
            return processId != Environment.ProcessId
                && ProcessDescriptor.OfPeer(socket, processId, out problem) is { } process
                ? TryWatch(process, onExit, out problem)
                : null;
        }
        catch (ObjectDisposedException)
        {
            return null;
        }
    }

    private void Unwatch(Watched watched, Action onExit)
    {
        using (_gate.Enter())
        {
            if (watched.OnExit.Remove(onExit) && watched.OnExit.Count == 0)
            {
                // The thread closes the descriptor, because it may be waiting for it.
                MakeUnjoinable(watched);
                _wakeUp?.Signal();
            }
        }
    }

    private string? EnsureRunning()
    {
        if (_wakeUp is not null)
        {
            return null;
        }

        _wakeUp = EventDescriptor.TryCreate();
        if (_wakeUp is null)
        {
            return "the process has no descriptor left";
        }

        if (BackgroundThread.TryStart(Run, ThreadName, StackBytes) is null)
        {
            return null;
        }

        _wakeUp.Dispose();
        _wakeUp = null;
        return "no thread could be started";
    }

    private void Run()
    {
        bool hasLingered = false;
        while (TryTakeAll(hasLingered) is { } watched)
        {
            SafeFileHandle[] descriptors = [_wakeUp!.Handle, .. watched.Select(entry => entry.Process.Handle)];
            bool[] isReadable = new bool[descriptors.Length];
            bool isWaited = DescriptorPoll.TryWait(descriptors, isReadable, watched.Length == 0 ? linger : null);
            if (!isWaited)
            {
                // For one descriptor the kernel needs no memory.
                _ = DescriptorPoll.TryWait(descriptors.AsSpan(0, 1), isReadable, s_pauseAfterFailure);
            }

            hasLingered = isWaited && !isReadable.Contains(true);
            _wakeUp.Clear();
            for (int i = 0; i < watched.Length; i++)
            {
                if (isReadable[i + 1])
                {
                    Array.ForEach(TakeActions(watched[i]), onExit => onExit());
                }
            }
        }
    }

    /// <summary>
    /// Closes the descriptors that nobody needs any more, and returns the other entries. Returns null, with which the
    /// thread must end, if there was none all the time.
    /// </summary>
    private Watched[]? TryTakeAll(bool hasLingered)
    {
        using (_gate.Enter())
        {
            foreach (Watched unused in _all.Where(watched => watched.OnExit.Count == 0))
            {
                unused.Process.Dispose();
            }

            _all.RemoveAll(watched => watched.OnExit.Count == 0);
            if (_all.Count > 0 || !hasLingered)
            {
                return [.. _all];
            }

            _wakeUp!.Dispose();
            _wakeUp = null;
            return null;
        }
    }

    private Action[] TakeActions(Watched watched)
    {
        using (_gate.Enter())
        {
            MakeUnjoinable(watched);
            Action[] actions = [.. watched.OnExit];
            watched.OnExit.Clear();
            return actions;
        }
    }

    private void MakeUnjoinable(Watched watched)
    {
        if (_joinable.GetValueOrDefault(watched.Process.Key) == watched)
        {
            _joinable.Remove(watched.Process.Key);
        }
    }

    private sealed class Watched(ProcessDescriptor process, Action onExit)
    {
        public ProcessDescriptor Process => process;

        /// <summary>The actions of the connections that are open; none if the entry is to be removed.</summary>
        public HashSet<Action> OnExit { get; } = [onExit];
    }

    private sealed class Registration(ProcessWatch watch, Watched watched, Action onExit) : IDisposable
    {
        public void Dispose() => watch.Unwatch(watched, onExit);
    }
}
