using System.Diagnostics;
using System.Runtime.Versioning;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// The poll of doors, and of wires during their handshakes, which cannot be bound to a port yet: a pipe has one port
/// for ever. Its thread begins all operations and lives on, and they share one event. After each wait it looks at all
/// of them, so it is for some tens. Processes are watched by the polls of event loops alone.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed class DoorPoll : EventPoll
{
    private readonly KernelHandle _event;
    private readonly UninterruptibleLock _lock = new();
    private readonly List<Entry> _entries = [];
    private volatile int _isWoken;

    private DoorPoll(KernelHandle completion) => _event = completion;

    /// <summary>Creates one; null if the system lacks something for it.</summary>
    public static DoorPoll? TryCreate()
    {
        KernelHandle completion = KernelHandle.CreateEvent();
        return completion.IsInvalid ? null : new DoorPoll(completion);
    }

    public override void Wake()
    {
        _isWoken = 1;
        _ = WindowsNative.SetEvent(_event);
    }

    public override string? Add(Watchable watched, ulong key)
    {
        if (watched is ProcessHandle)
        {
            return "only event loops have a poll for this";
        }

        (watched as PipeWire)?.BeginWatch(_event);
        (watched as PipeListening)?.ForgetTold();
        using (_lock.Enter())
        {
            _entries.Add(new Entry(watched, key));
        }

        // So that the thread begins an operation.
        _ = WindowsNative.SetEvent(_event);
        return null;
    }

    public override void Remove(Watchable watched)
    {
        int removed;
        using (_lock.Enter())
        {
            removed = _entries.RemoveAll(entry => entry.Watched == watched);
        }

        // Not under the lock, because a wait for an end may take a moment. The thread has left the entry.
        if (removed > 0)
        {
            End(watched);
        }
    }

    public override int Wait(Event[] events, int timeoutMilliseconds)
    {
        long begun = Stopwatch.GetTimestamp();
        while (true)
        {
            int count = Look(events);
            TimeSpan left = TimeSpan.FromMilliseconds(timeoutMilliseconds) - Stopwatch.GetElapsedTime(begun);
            if (count > 0 || (timeoutMilliseconds >= 0 && left <= TimeSpan.Zero))
            {
                return count;
            }

            _ = WindowsNative.WaitForSingleObject(
                _event, timeoutMilliseconds < 0 ? WindowsNative.Infinite : WindowsNative.Milliseconds(left));
        }
    }

    public override void Dispose()
    {
        using (_lock.Enter())
        {
            _entries.ForEach(static entry => End(entry.Watched));
            _entries.Clear();
        }

        _event.Dispose();
    }

    private int Look(Event[] events)
    {
        int count = 0;
        if (Interlocked.Exchange(ref _isWoken, 0) != 0)
        {
            events[count++] = default;
        }

        nint completion = _event.DangerousGetHandle();
        using (_lock.Enter())
        {
            // What finds no place is found by the next look.
            for (int i = 0; i < _entries.Count && count < Math.Min(events.Length, MostEvents); i++)
            {
                Entry entry = _entries[i];
                bool hasEnded = false;
                if (entry.Watched is PipeWire wire
                    ? wire.TryTell(completion, out hasEnded)
                    : ((PipeListening)entry.Watched).TryTell(completion))
                {
                    events[count++] = new Event(entry.Key, hasEnded);
                }
            }
        }

        return count;
    }

    private static void End(Watchable watched)
    {
        (watched as PipeWire)?.EndWatch();
        (watched as PipeListening)?.Stop();
    }

    private readonly record struct Entry(Watchable Watched, ulong Key);
}
