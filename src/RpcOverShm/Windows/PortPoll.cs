using System.Collections.Concurrent;
using System.Runtime.Versioning;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// The poll of an event loop: a completion port. Each wire has a read in progress, whose end comes as a packet, with
/// the bytes. A packet has a key of this poll; one whose key is not known any more is of a wire that was removed.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed unsafe class PortPoll : EventPoll
{
    private const nuint WakeKey = 0;
    private const int LastWaitMilliseconds = 100; // for the packets of cancelled reads, which are there already
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(10);

    private readonly KernelHandle _port;
    private readonly UninterruptibleLock _lock = new(); // guards the fields below
    private readonly Dictionary<nuint, Entry> _entries = [];
    private readonly Dictionary<Watchable, nuint> _keys = [];
    private readonly Dictionary<nint, PipeOperation> _cancelled = []; // until their packets come
    private readonly ConcurrentQueue<nuint> _unposted = new(); // the system had no memory for a packet
    private readonly BackgroundTimer _retry;
    private nuint _lastKey;

    private PortPoll(KernelHandle port)
    {
        _port = port;
        _retry = new BackgroundTimer(static poll => ((PortPoll)poll!).PostAgain(), this);
    }

    /// <summary>Creates one; null if the system lacks something for it.</summary>
    public static PortPoll? TryCreate()
    {
        var port = new KernelHandle(
            WindowsNative.CreateIoCompletionPort(WindowsNative.InvalidHandle, port: 0, key: 0, threads: 1));
        return port.IsInvalid ? null : new PortPoll(port);
    }

    public override void Wake() => Post(WakeKey);

    public override string? Add(Watchable watched, ulong key)
    {
        nuint own;
        using (_lock.Enter())
        {
            own = ++_lastKey;
        }

        ProcessWait? wait = null;
        if (watched is PipeWire wire)
        {
            wire.BeginWatch(watch: null);
            if (TryBind(wire, ref own) is { } reason)
            {
                return reason;
            }
        }
        else if (watched is ProcessHandle process)
        {
            wait = ProcessWait.TryStart((KernelHandle)process.Handle, () => Post(own), out string? problem);
            if (wait is null)
            {
                return problem;
            }
        }
        else
        {
            return "only doors have a poll for this";
        }

        using (_lock.Enter())
        {
            _entries[own] = new Entry(key, wait);
            _keys[watched] = own;
        }

        // Bytes that are left from the handshake come with no packet. That of a process may have come too early.
        if (watched is PipeWire added ? added.TryTell(completion: 0, out _) : ((ProcessHandle)watched).HasExited)
        {
            Post(own);
        }

        return null;
    }

    private string? TryBind(PipeWire wire, ref nuint own)
    {
        try
        {
            return wire.Bind(_port, ref own);
        }
        catch (ObjectDisposedException)
        {
            return "it is closed";
        }
    }

    public override void Remove(Watchable watched)
    {
        Entry removed;
        using (_lock.Enter())
        {
            if (!_keys.Remove(watched, out nuint own))
            {
                return;
            }

            _entries.Remove(own, out removed);
            Cancel(watched);
        }

        removed.Wait?.Dispose();
    }

    public override int Wait(Event[] events, int timeoutMilliseconds)
    {
        WindowsNative.Packet* packets = stackalloc WindowsNative.Packet[MostEvents];
        int taken = Take(packets, Math.Min(events.Length, MostEvents), timeoutMilliseconds);
        int count = 0;
        using (_lock.Enter())
        {
            for (int i = 0; i < taken; i++)
            {
                FreeCancelled(packets[i]);
                nuint own = packets[i].Key;
                if (own == WakeKey)
                {
                    events[count++] = default;
                }
                else if (_entries.TryGetValue(own, out Entry entry))
                {
                    // The status of a packet without an operation is 0.
                    bool hasEnded = entry.Wait is not null || unchecked((int)packets[i].Status) < 0;
                    events[count++] = new Event(entry.Key, hasEnded);
                }
            }
        }

        return count;
    }

    public override void Dispose()
    {
        using (_lock.Enter())
        {
            foreach ((Watchable watched, nuint own) in _keys)
            {
                Cancel(watched);
                _entries[own].Wait?.Dispose();
            }

            _keys.Clear();
            _entries.Clear();
            TakeLastPackets();
        }

        _retry.Dispose();
        _port.Dispose();
    }

    private int Take(WindowsNative.Packet* packets, int most, int timeoutMilliseconds)
    {
        uint taken;
        int isAny = WindowsNative.GetQueuedCompletionStatusEx(
            _port, packets, (uint)most, &taken, unchecked((uint)timeoutMilliseconds), isAlertable: 0);
        return isAny != 0 ? (int)taken : 0;
    }

    // The caller holds the lock.
    private void Cancel(Watchable watched)
    {
        if ((watched as PipeWire)?.CancelRead() is { } read)
        {
            _cancelled.Add(read.Address, read);
        }
    }

    // The caller holds the lock. A packet of an earlier read can have the same address.
    private void FreeCancelled(in WindowsNative.Packet packet)
    {
        nint address = (nint)packet.Overlapped;
        if (_cancelled.TryGetValue(address, out PipeOperation? ended) && !ended.IsPending)
        {
            _cancelled.Remove(address);
            ended.Dispose();
        }
    }

    // The caller holds the lock. What the system does not end in time keeps its memory.
    private void TakeLastPackets()
    {
        WindowsNative.Packet* packets = stackalloc WindowsNative.Packet[MostEvents];
        int taken;
        while (_cancelled.Count > 0 && (taken = Take(packets, MostEvents, LastWaitMilliseconds)) > 0)
        {
            for (int i = 0; i < taken; i++)
            {
                FreeCancelled(packets[i]);
            }
        }
    }

    private void Post(nuint key)
    {
        if (WindowsNative.PostQueuedCompletionStatus(_port, 0, key, null) == 0)
        {
            _unposted.Enqueue(key);
            _retry.Change(s_pause, Timeout.InfiniteTimeSpan);
        }
    }

    private void PostAgain()
    {
        try
        {
            for (int left = _unposted.Count; left > 0 && _unposted.TryDequeue(out nuint key); left--)
            {
                Post(key);
            }
        }
        catch (ObjectDisposedException)
        {
            // Nobody waits any more.
        }
    }

    private readonly record struct Entry(ulong Key, ProcessWait? Wait);
}
