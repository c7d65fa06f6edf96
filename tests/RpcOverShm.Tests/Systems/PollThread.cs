using System.Collections.Concurrent;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Systems;

/// <summary>A thread that waits with a poll, as an event loop does, and runs an action for each event.</summary>
internal sealed class PollThread : IDisposable
{
    private readonly EventPoll _poll;
    private readonly TestThread _thread;
    private readonly ConcurrentDictionary<ulong, Action<bool>> _actions = new();
    private ulong _lastKey;
    private volatile bool _isStopped;

    public PollThread(bool isDoor)
    {
        _poll = HostSystem.Current.TryCreatePoll(isDoor)!;
        _thread = TestThread.Start("poll", Run);
    }

    /// <summary>The events that came so far, without wake-ups.</summary>
    public int Events { get; private set; }

    public void Add(Watchable watched, Action<bool> onEvent)
    {
        ulong key = Interlocked.Increment(ref _lastKey);
        _actions[key] = onEvent;
        Assert.That(_poll.Add(watched, key), Is.Null);
    }

    public void Remove(Watchable watched) => _poll.Remove(watched);

    public void Dispose()
    {
        _isStopped = true;
        _poll.Wake();
        _thread.Join();
        _poll.Dispose();
    }

    private void Run()
    {
        var events = new EventPoll.Event[EventPoll.MostEvents];
        while (!_isStopped)
        {
            int count = _poll.Wait(events, -1);
            foreach (EventPoll.Event one in events.AsSpan(0, count))
            {
                if (_actions.TryGetValue(one.Key, out Action<bool>? action))
                {
                    Events++;
                    action(one.HasEnded);
                }
            }
        }
    }
}
