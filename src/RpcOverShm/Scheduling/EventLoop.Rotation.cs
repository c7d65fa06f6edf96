using System.Diagnostics;
using System.Runtime.InteropServices;

namespace RpcOverShm.Scheduling;

/// <summary>The active sources of an event loop: how they come into its list, have their turns, and leave it.</summary>
internal sealed partial class EventLoop
{
    /// <summary>Runs each active source that has work. Returns false if the loop was lost.</summary>
    private bool TryRotate(LoopThread me, ref long now, out bool hasWorked)
    {
        for (; _index < _active.Count; _index++)
        {
            int busy = _busy;
            if (!TryRun(me, ref _index, ref now))
            {
                hasWorked = true;
                return false;
            }

            if (_busy == busy || _active.Count <= 1 || now - _polledAt <= s_pollTicks)
            {
                continue;
            }

            // A source that rings now need not wait until all that have much work had their turn.
            int newcomer = _active.Count;
            _ = Poll(0);
            for (; newcomer < _active.Count; newcomer++)
            {
                if (!TryRun(me, ref newcomer, ref now))
                {
                    hasWorked = true;
                    return false;
                }
            }
        }

        _index = 0;
        _looks++;
        hasWorked = _busy > 0;
        (_wasBusy, _busy) = (_busy, 0);
        return true;
    }

    /// <summary>
    /// Runs the active source at this index if it has work, or drops it if it was removed; the index is then one less.
    /// Returns false if the loop was lost.
    /// </summary>
    private bool TryRun(LoopThread me, ref int index, ref long now)
    {
        EventSource source = _active[index];
        if (!source.IsRemoved && (source.TakeRequest() || source.HasWork))
        {
            _busy++;
            _current = source;
            if (!source.Run(me))
            {
                return false;
            }

            _current = null;
            now = Stopwatch.GetTimestamp();
            source.LastWorkAt = now;
        }

        if (source.IsRemoved)
        {
            // Its memory may be gone, so nobody looks at it any more.
            Drop(index--);
        }

        return true;
    }

    private void AddPosted()
    {
        if (_posted is null)
        {
            return;
        }

        EventSource? posted = Interlocked.Exchange(ref _posted, null);
        while (posted is { } source)
        {
            // A source may be posted again as soon as it is taken.
            posted = source.PostedBefore;
            source.TakePosted();
            Enlist(source);
        }
    }

    private void Enlist(EventSource source)
    {
        // One that was requested while it was added may be posted twice, and was perhaps parked or removed in between.
        if (!source.IsListed && source.IsActive && source.TryEnter())
        {
            long now = Stopwatch.GetTimestamp();
            source.IsListed = true;
            source.IsRare = now - source.LastWorkAt >= _silence;
            source.LastWorkAt = now;
            _active.Add(source);
        }
    }

    private void Drop(int index)
    {
        EventSource source = _active[index];
        _active[index] = _active[^1];
        _active.RemoveAt(_active.Count - 1);
        source.IsListed = false;
        source.Leave();
    }

    private struct Condition(EventLoop loop, bool isRinging) : ISpinCondition
    {
        private int _looksSincePoll = LooksPerPoll;

        public bool IsMet
        {
            get
            {
                if (loop._posted is not null)
                {
                    return true;
                }

                loop._looks++;
                foreach (EventSource source in CollectionsMarshal.AsSpan(loop._active))
                {
                    if (source.HasWork || source.IsRequested)
                    {
                        return true;
                    }
                }

                _looksSincePoll += loop._active.Count;
                if (!isRinging || _looksSincePoll < LooksPerPoll)
                {
                    return false;
                }

                _looksSincePoll = 0;
                return loop.Poll(0) > 0;
            }
        }
    }
}
