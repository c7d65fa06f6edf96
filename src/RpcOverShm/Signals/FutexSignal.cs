using System.Runtime.CompilerServices;
using RpcOverShm.Segments;

namespace RpcOverShm.Signals;

/// <summary>
/// Sleeps on the shared word itself, by futex. Where the kernel has futex_waitv (Linux 5.16) a sleeper waits on the
/// shared word and on this instance's attention word together. Elsewhere it waits on the shared word alone, and a local
/// event wakes the words that somebody sleeps on, again and again, until every sleeper has noticed: a single wake could
/// come between a sleeper's last look and its sleep.
/// </summary>
internal sealed unsafe class FutexSignal : ISignal
{
    // Pinned: the kernel is given its address. Alone in its array, and the array far from anything hot.
    private readonly uint[] _localEvents = GC.AllocateArray<uint>(1, pinned: true);
    private readonly List<Sleeper>? _sleepers;

    /// <param name="useWaitv">False for the form that older kernels need.</param>
    public FutexSignal(bool useWaitv) => _sleepers = useWaitv ? null : [];

    /// <summary>True where the kernel has futex_waitv and lets this process call it.</summary>
    public static bool IsWaitvSupported { get; } = ProbeWaitv();

    public uint LocalEvents => Volatile.Read(ref _localEvents[0]);

    public bool Wait(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout) =>
        _sleepers is null
            ? WaitOnBoth(word, expected, localEventsSeen, timeout)
            : WaitOnWord(word, expected, localEventsSeen, timeout);

    public void Wake(SharedWord word) => FutexNative.WakeAll(word.Address);

    public void RaiseLocalEvent()
    {
        // This process's own counter, not shared memory: sleepers of this process compare it.
        uint now = Interlocked.Increment(ref _localEvents[0]);
        if (_sleepers is null)
        {
            FutexNative.WakeAllPrivate(LocalEventsAddress);
            return;
        }

        // Each round wakes all that had not seen this event when they fell asleep; a sleeper that is
        // woken leaves the list.
        while (WakeThoseBefore(now))
        {
            Thread.Yield();
        }
    }

    private uint* LocalEventsAddress => (uint*)Unsafe.AsPointer(ref _localEvents[0]);

    private bool WaitOnBoth(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout)
    {
        FutexNative.WaitEntry* entries = stackalloc FutexNative.WaitEntry[2];
        entries[0] = new() { Value = expected, Address = (ulong)word.Address, Flags = FutexNative.Size32 };
        entries[1] = new()
        {
            Value = localEventsSeen,
            Address = (ulong)LocalEventsAddress,
            Flags = FutexNative.Size32 | FutexNative.Private,
        };
        FutexNative.TimeSpec until = FutexNative.MonotonicNowPlus(timeout);
        int result = FutexNative.WaitAny(entries, 2, &until);

        // The kernel held only the address of the attention word; the collector must not take it while a thread sleeps.
        GC.KeepAlive(this);
        return result != -FutexNative.ErrnoETIMEDOUT;
    }

    private bool WaitOnWord(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout)
    {
        var me = new Sleeper(word, localEventsSeen);
        lock (_sleepers!)
        {
            _sleepers.Add(me);
        }

        // An event that was raised before the list knew this sleeper is seen here; a later one finds it in the list.
        bool isWoken = LocalEvents != localEventsSeen || FutexNative.Wait(word.Address, expected, timeout);
        lock (_sleepers)
        {
            _sleepers.Remove(me);
        }

        return isWoken;
    }

    private bool WakeThoseBefore(uint localEvents)
    {
        bool isAnyLeft = false;
        lock (_sleepers!)
        {
            foreach (Sleeper sleeper in _sleepers)
            {
                if (unchecked((int)(localEvents - sleeper.LocalEventsSeen)) > 0)
                {
                    isAnyLeft = true;
                    FutexNative.WakeAll(sleeper.Word.Address);
                }
            }
        }

        return isAnyLeft;
    }

    private static bool ProbeWaitv()
    {
        if (!OperatingSystem.IsLinux() || !SystemCallNumbers.AreKnown)
        {
            return false;
        }

        // A wait for a value that the word does not have returns at once where the call exists.
        uint word = 0;
        var entry = new FutexNative.WaitEntry
        {
            Value = 1,
            Address = (ulong)&word,
            Flags = FutexNative.Size32 | FutexNative.Private,
        };
        FutexNative.TimeSpec until = FutexNative.MonotonicNowPlus(TimeSpan.Zero);
        return FutexNative.WaitAny(&entry, 1, &until) is not (-FutexNative.ErrnoENOSYS or -FutexNative.ErrnoEPERM);
    }

    private sealed class Sleeper(SharedWord word, uint localEventsSeen)
    {
        public SharedWord Word { get; } = word;

        public uint LocalEventsSeen { get; } = localEventsSeen;
    }
}
