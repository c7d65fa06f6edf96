using System.Runtime.InteropServices;
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

    private readonly KernelHandle _port;
    private readonly UninterruptibleLock _lock = new(); // guards the fields below
    private readonly Dictionary<nuint, Entry> _entries = [];
    private readonly Dictionary<Watchable, nuint> _keys = [];
    private nuint _lastKey;

    private PortPoll(KernelHandle port) => _port = port;

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
            wire.ForgetTold();
            if (wire.Bind(_port, ref own) is { } reason)
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

        // Bytes that are left from the handshake come with no packet.
        if (watched is PipeWire added ? added.TryTell(completion: 0, out _) : ((ProcessHandle)watched).HasExited)
        {
            Post(own);
        }

        return null;
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
        }

        End(watched, removed);
    }

    public override int Wait(Event[] events, int timeoutMilliseconds)
    {
        WindowsNative.Packet* packets = stackalloc WindowsNative.Packet[MostEvents];
        uint most = (uint)Math.Min(events.Length, MostEvents);
        uint removed;
        if (WindowsNative.GetQueuedCompletionStatusEx(
            _port, packets, most, &removed, unchecked((uint)timeoutMilliseconds), isAlertable: 0) == 0)
        {
            return 0;
        }

        int count = 0;
        using (_lock.Enter())
        {
            for (uint i = 0; i < removed; i++)
            {
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
                End(watched, _entries[own]);
            }

            _keys.Clear();
            _entries.Clear();
        }

        _port.Dispose();
    }

    private static void End(Watchable watched, Entry entry)
    {
        (watched as PipeWire)?.EndRead();
        entry.Wait?.Dispose();
    }

    private void Post(nuint key) => _ = WindowsNative.PostQueuedCompletionStatus(_port, 0, key, null);

    private readonly record struct Entry(ulong Key, ProcessWait? Wait);
}
