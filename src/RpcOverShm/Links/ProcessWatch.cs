using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// Watches the processes of peers, because a socket stays open as long as any process holds it, such as a child that
/// its dead owner left. One descriptor for each process serves all its connections; it is a source of the event loop of
/// the first one. Servers and channels have a watch each, as they have loops. Thread-safe.
/// </summary>
internal sealed class ProcessWatch
{
    private readonly UninterruptibleLock _lock = new();
    private readonly Dictionary<ProcessKey, Watched> _joinable = [];

    /// <summary>The watch of the clients of this process's servers.</summary>
    public static ProcessWatch Servers { get; } = new();

    /// <summary>The watch of the servers of this process's channels.</summary>
    public static ProcessWatch Channels { get; } = new();

    /// <summary>
    /// Runs an action once when the process ends, also if it has ended already, on the thread of an event loop; the
    /// action must not block. Takes the process over. The result ends the watch; an action that is running may then
    /// still run.
    /// </summary>
    /// <returns>Null and the reason if the system does not watch it.</returns>
    public IDisposable? TryWatch(WatchedProcess process, EventLoop loop, Action onExit, out string? problem)
    {
        using (_lock.Enter())
        {
            // Before Linux 6.9 the id is all there is, and it may be that of a new process.
            if (_joinable.TryGetValue(process.Key, out Watched? known) && !known.Process.HasExited)
            {
                process.Dispose();
                known.OnExit.Add(onExit);
                problem = null;
                return new Registration(this, known, onExit);
            }

            var watched = new Watched(this, process, onExit);
            if (watched.Watch(loop, process) is { } reason)
            {
                process.Dispose();
                problem = $"its event loop does not watch it ({reason.TrimEnd('.')})";
                return null;
            }

            problem = null;
            _joinable[process.Key] = watched;
            return new Registration(this, watched, onExit);
        }
    }

    /// <summary>
    /// Watches the process at the other end of a wire, as <see cref="TryWatch"/> does. Returns null without a problem
    /// if that is this process, or if the wire is closed.
    /// </summary>
    public IDisposable? TryWatchPeer(
        Wire wire, int processId, EventLoop loop, Action onExit, out string? problem)
    {
        problem = null;
        try
        {
            return processId != Environment.ProcessId
                && wire.OpenProcess(out problem) is { } process
                ? TryWatch(process, loop, onExit, out problem)
                : null;
        }
        catch (ObjectDisposedException)
        {
            return null;
        }
    }

    private void Unwatch(Watched watched, Action onExit)
    {
        using (_lock.Enter())
        {
            if (watched.OnExit.Remove(onExit) && watched.OnExit.Count == 0)
            {
                End(watched);
            }
        }
    }

    private void OnExited(Watched watched)
    {
        Action[] actions;
        using (_lock.Enter())
        {
            // The last action may have been taken back at this moment.
            if (watched.OnExit.Count == 0)
            {
                return;
            }

            actions = [.. watched.OnExit];
            watched.OnExit.Clear();
            End(watched);
        }

        Array.ForEach(actions, static onExit => onExit());
    }

    // The caller holds the lock.
    private void End(Watched watched)
    {
        watched.EndWatch();
        if (_joinable.GetValueOrDefault(watched.Process.Key) == watched)
        {
            _joinable.Remove(watched.Process.Key);
        }

        watched.Process.Dispose();
    }

    private sealed class Watched(ProcessWatch watch, WatchedProcess process, Action onExit) : WatchableSource
    {
        public WatchedProcess Process => process;

        /// <summary>The actions of the connections that are open; none after the end of the watch.</summary>
        public HashSet<Action> OnExit { get; } = [onExit];

        protected override void OnReady() => watch.OnExited(this);
    }

    private sealed class Registration(ProcessWatch watch, Watched watched, Action onExit) : IDisposable
    {
        public void Dispose() => watch.Unwatch(watched, onExit);
    }
}
