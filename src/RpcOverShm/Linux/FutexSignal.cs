using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>
/// A signal on futexes. With futex_waitv (Linux 5.16) a sleeper waits on the shared word and on this instance's counter
/// of local events together. On older kernels it waits on the shared word only; a local event then wakes all shared
/// words with sleepers, repeatedly, until every sleeper has returned. A single wake-up could be lost between a
/// sleeper's last check and its sleep.
/// </summary>
internal sealed unsafe class FutexSignal : Signal
{
    private readonly List<Sleeper>? _sleepers;
    private readonly UninterruptibleLock _lock = new();

    /// <param name="useWaitv">Whether to use futex_waitv; false for older kernels.</param>
    public FutexSignal(bool useWaitv) => _sleepers = useWaitv ? null : [];

    /// <summary>Whether the kernel has futex_waitv and lets this process call it.</summary>
    public static bool IsWaitvSupported { get; } = ProbeWaitv();

    // A futex is found by its address in the shared memory.
    public override IReadOnlyList<SafeHandle> Offer => [];

    public override void Attach(SignalWords words, IReadOnlyList<SafeHandle> ofPeer)
    {
    }

    public override void Dispose()
    {
    }

    public override bool Wait(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout) =>
        _sleepers is null
            ? WaitOnBoth(word, expected, localEventsSeen, timeout)
            : WaitOnWord(word, expected, localEventsSeen, timeout);

    public override void Wake(SharedWord word) => FutexNative.Wake(word.Address);

    public override void RaiseLocalEvent()
    {
        // A counter of this process, not shared memory: only its own sleepers compare it.
        uint now = Interlocked.Increment(ref LocalEventsWord.Value);
        if (_sleepers is null)
        {
            LocalEventsWord.Wake();
            return;
        }

        // Each round wakes all sleepers that sampled the counter before this event. A woken sleeper leaves the list.
        while (WakeThoseBefore(now))
        {
            Thread.Yield();
        }
    }

    private bool WaitOnBoth(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout)
    {
        FutexNative.WaitEntry* entries = stackalloc FutexNative.WaitEntry[2];
        entries[0] = new() { Value = expected, Address = (ulong)word.Address, Flags = FutexNative.Size32 };
        entries[1] = new()
        {
            Value = localEventsSeen,
            Address = (ulong)LocalEventsWord.Address,
            Flags = FutexNative.Size32 | FutexNative.Private,
        };
        int result = FutexNative.WaitAny(entries, 2, timeout);

        // The kernel has only the address of the counter, so the GC must not collect it during the sleep.
        GC.KeepAlive(this);
        return result != -FutexNative.ErrnoETIMEDOUT;
    }

    private bool WaitOnWord(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout)
    {
        var me = new Sleeper(word, localEventsSeen);
        using (_lock.Enter())
        {
            _sleepers!.Add(me);
        }

        // If the event was raised before the list had this sleeper, the counter shows it here. A later event finds the
        // sleeper in the list.
        bool isWoken = LocalEvents != localEventsSeen || FutexNative.Wait(word.Address, expected, timeout);
        using (_lock.Enter())
        {
            _sleepers!.Remove(me);
        }

        return isWoken;
    }

    private bool WakeThoseBefore(uint localEvents)
    {
        bool isAnyLeft = false;
        using (_lock.Enter())
        {
            foreach (Sleeper sleeper in _sleepers!)
            {
                if (unchecked((int)(localEvents - sleeper.LocalEventsSeen)) > 0)
                {
                    isAnyLeft = true;

                    // Not only a few: the peer's threads may sleep on this word too, and come before this sleeper.
                    FutexNative.WakeAll(sleeper.Word.Address);
                }
            }
        }

        return isAnyLeft;
    }

    private static bool ProbeWaitv()
    {
        if (!SystemCallNumbers.AreKnown)
        {
            return false;
        }

        // If the call exists, a wait for a value that the word does not have returns immediately.
        uint word = 0;
        var entry = new FutexNative.WaitEntry
        {
            Value = 1,
            Address = (ulong)&word,
            Flags = FutexNative.Size32 | FutexNative.Private,
        };
        int result = FutexNative.WaitAny(&entry, 1, TimeSpan.Zero);
        return result is not (-FutexNative.ErrnoENOSYS or -FutexNative.ErrnoEPERM);
    }

    private sealed class Sleeper(SharedWord word, uint localEventsSeen)
    {
        public SharedWord Word { get; } = word;

        public uint LocalEventsSeen { get; } = localEventsSeen;
    }
}
