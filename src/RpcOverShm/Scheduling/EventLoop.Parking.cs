using System.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The sleep of an event loop: its sockets, the parking of its sources, the check for lost doorbells, and due times.
/// </summary>
internal sealed partial class EventLoop
{
    /// <summary>Takes the sockets that have changed, perhaps after a sleep. Returns their number.</summary>
    private int Poll(int timeoutMilliseconds)
    {
        int count = _poll!.Wait(_events, timeoutMilliseconds);
        _polledAt = Stopwatch.GetTimestamp();
        for (int i = 0; i < count; i++)
        {
            (ulong key, bool hasEnded) = _events[i];
            EventSource? source; // null for a wake, too
            using (_lock.Enter())
            {
                _sources.TryGetValue(key, out source);
            }

            if (source is not null)
            {
                _rungAt = _polledAt;
                _undrained.Add((source, hasEnded));
                if (source.TryActivate())
                {
                    Enlist(source);
                }

                source.OnSocket();
            }
        }

        return count;
    }

    // After the sources have run: the answer to a record need not wait for the byte that announced it.
    private void DrainSockets()
    {
        if (_undrained.Count == 0)
        {
            return;
        }

        foreach ((EventSource source, bool hasEnded) in _undrained)
        {
            source.DrainSocket(hasEnded);
        }

        _undrained.Clear();
    }

    private void ParkSilent(long now)
    {
        if (now - _parkedAt < s_briefTicks)
        {
            return;
        }

        _silence = Math.Max(s_leastSilence, (now - _parkedAt) / _looks * LooksPerDoorbell);
        BeginToCountLooks(now);
        for (int i = _active.Count - 1; i >= 0; i--)
        {
            EventSource source = _active[i];
            if (now - source.LastWorkAt >= (source.IsRare ? s_briefTicks : _silence))
            {
                TryPark(i);
            }
        }
    }

    private void BeginToCountLooks(long now)
    {
        _parkedAt = now;
        _looks = 0;
    }

    private bool TryParkAll()
    {
        for (int i = _active.Count - 1; i >= 0; i--)
        {
            TryPark(i);
        }

        return _active.Count == 0;
    }

    private void TryPark(int index)
    {
        EventSource source = _active[index];
        if (source.IsRemoved)
        {
            Drop(index);
        }
        else if (source.TryPark() && source.TrySetParked())
        {
            // StoreLoad: the state is stored before the look. A thread that stops reading does so before it looks at
            // the state. Looked at before the source may be unmapped.
            bool needsReader = source.NeedsReader;
            Drop(index);
            if (needsReader)
            {
                source.Request();
            }
        }
    }

    /// <summary>
    /// Sleeps until a socket changes, a request comes or a source is due. Returns false if the thread must end.
    /// </summary>
    private bool Sleep(long since)
    {
        Interlocked.Exchange(ref _isSleeping, 1);
        if (_posted is not null)
        {
            _isSleeping = 0;
            return true;
        }

        bool isLast = _count == 0;
        long begun = Stopwatch.GetTimestamp();
        long until = Math.Max(begun, Math.Min(_checkAt, _dueAt));
        TimeSpan timeout = isLast ? Linger : Stopwatch.GetElapsedTime(begun, until);
        int count = Poll((int)Math.Ceiling(timeout.TotalMilliseconds));
        BeginToCountLooks(_polledAt);
        _isSleeping = 0;
        if (count == 0)
        {
            _silences++;
        }
        else
        {
            _silences = 0;
            if (since != 0)
            {
                _spin.RecordSleep(since);
            }
        }

        if (isLast && count == 0)
        {
            return !TryEnd();
        }

        return true;
    }

    /// <summary>Requests the sources whose time has come. They run in the next turn.</summary>
    private void RequestDue()
    {
        _dueAt = long.MaxValue;
        for (int i = _timed.Count - 1; i >= 0; i--)
        {
            EventSource source = _timed[i];
            if (source.DueAt > _polledAt && !source.IsRemoved)
            {
                _dueAt = Math.Min(_dueAt, source.DueAt);
                continue;
            }

            _timed.RemoveAt(i);
            source.Request();
        }
    }

    /// <summary>
    /// Looks for parked sources that have data although no doorbell has rung. What had rung a moment ago was taken, so
    /// its source is active. A source is parked only after its socket was drained.
    /// </summary>
    private void CheckParked()
    {
        Watchdog.EnsureDueTimesRun();
        EventSource[] all;
        using (_lock.Enter())
        {
            all = [.. _sources.Values];
        }

        // On a starved machine nothing is certain: then the suspicion begins anew.
        bool isOnTime = Stopwatch.GetElapsedTime(_checkAt, _polledAt) <= WaitBounds.OnTime;
        bool isAnySuspect = false;
        foreach (EventSource source in all)
        {
            isAnySuspect |= !source.IsActive && source.CheckParked(isOnTime);
        }

        // A peer that publishes at this very moment may have been preempted before it rings.
        TimeSpan pause = isAnySuspect ? WaitBounds.LateWake : WaitBounds.AfterSilence(_silences);
        _checkAt = _polledAt + (long)(pause.TotalSeconds * Stopwatch.Frequency);
    }
}
