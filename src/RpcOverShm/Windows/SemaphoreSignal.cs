using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// A signal on semaphores with a maximum of 1, because threads of two processes cannot sleep on one address here. Each
/// side has one for data and one for space, which the peer may only release: it cannot take this side's wake-ups. A
/// release without a sleeper stays, and makes the next sleep spurious. An event of each sleeper tells local events.
/// </summary>
internal sealed unsafe class SemaphoreSignal : Signal
{
    private const uint Woken = 0; // WAIT_OBJECT_0, of the semaphore

    private readonly KernelHandle _data;
    private readonly KernelHandle _space;
    private readonly UninterruptibleLock _lock = new();
    private readonly List<Sleeper> _sleepers = [];
    private readonly Stack<Sleeper> _free = new(); // of former sleeps
    private SignalWords _words;
    private SafeHandle? _dataOfPeer;
    private SafeHandle? _spaceOfPeer;
    private bool _isDisposed;

    /// <exception cref="SegmentException">The system lacks memory or handles.</exception>
    public SemaphoreSignal()
    {
        _data = CreateSemaphore();
        try
        {
            _space = CreateSemaphore();
        }
        catch
        {
            _data.Dispose();
            throw;
        }

        Offer = [_data, _space];
    }

    public override IReadOnlyList<SafeHandle> Offer { get; }

    public override void Attach(SignalWords words, IReadOnlyList<SafeHandle> ofPeer)
    {
        if (ofPeer.Count != Offer.Count || ofPeer.Any(static handle => !IsSemaphore(handle)))
        {
            foreach (SafeHandle handle in ofPeer)
            {
                handle.Dispose();
            }

            throw new SegmentException(
                $"The peer passed {ofPeer.Count} handles for its wake-ups; {Offer.Count} of semaphores are right.");
        }

        _words = words;
        (_dataOfPeer, _spaceOfPeer) = (ofPeer[0], ofPeer[1]);
    }

    public override bool Wait(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout)
    {
        if (Begin(word.Address == _words.PeerTail.Address) is not { } me)
        {
            return true; // This side has closed the link.
        }

        bool isToldBySemaphore = false;
        try
        {
            // The sleeper is in the list before the looks: an event in between finds it there.
            if (word.Read() != expected || LocalEvents != localEventsSeen)
            {
                return true;
            }

            uint result = me.Sleep(WindowsNative.Milliseconds(timeout));
            isToldBySemaphore = result == Woken;
            return result != WindowsNative.WaitTimeout;
        }
        finally
        {
            End(me, isToldBySemaphore);
        }
    }

    public override void Wake(SharedWord word)
    {
        SafeHandle? semaphore = word.Address == _words.OwnTail.Address ? _dataOfPeer : _spaceOfPeer;
        try
        {
            // It fails if the peer has not taken the wake-up before: that one is enough.
            _ = semaphore is null ? 0 : WindowsNative.ReleaseSemaphore(semaphore, 1, null);
        }
        catch (ObjectDisposedException)
        {
            // This side has closed the link.
        }
    }

    public override void RaiseLocalEvent()
    {
        // A counter of this process, not shared memory.
        Interlocked.Increment(ref LocalEventsWord.Value);
        using (_lock.Enter())
        {
            foreach (Sleeper sleeper in _sleepers)
            {
                sleeper.Wake();
            }
        }
    }

    public override void Dispose()
    {
        using (_lock.Enter())
        {
            _isDisposed = true;
            foreach (Sleeper sleeper in _sleepers)
            {
                sleeper.Wake();
            }

            while (_free.TryPop(out Sleeper? free))
            {
                free.Dispose();
            }
        }

        _data.Dispose();
        _space.Dispose();
        _dataOfPeer?.Dispose();
        _spaceOfPeer?.Dispose();
    }

    private Sleeper? Begin(bool isForData)
    {
        using (_lock.Enter())
        {
            if (_isDisposed)
            {
                return null;
            }

            if (!_free.TryPop(out Sleeper? me))
            {
                me = new Sleeper();
            }

            me.Begin(isForData, isForData ? _data : _space);
            _sleepers.Add(me);
            return me;
        }
    }

    private void End(Sleeper me, bool isToldBySemaphore)
    {
        using (_lock.Enter())
        {
            me.End();
            _sleepers.Remove(me);
            if (isToldBySemaphore)
            {
                // One release ends one sleep, and all who sleep on the word must look at it.
                foreach (Sleeper other in _sleepers)
                {
                    if (other.IsForData == me.IsForData)
                    {
                        other.Wake();
                    }
                }
            }

            if (_isDisposed)
            {
                me.Dispose();
            }
            else
            {
                _free.Push(me);
            }
        }
    }

    private static KernelHandle CreateSemaphore()
    {
        WindowsNative.SecurityAttributes attributes = AccessDescriptor.OfNobody.Attributes;
        var semaphore = new KernelHandle(
            WindowsNative.CreateSemaphoreW(&attributes, initial: 0, maximum: 1, name: null),
            WindowsNative.SemaphoreModifyState);
        return semaphore.IsInvalid
            ? throw new SegmentException($"Cannot create a semaphore: {WindowsNative.LastErrorText()}.")
            {
                IsShortage = true,
            }
            : semaphore;
    }

    private static bool IsSemaphore(SafeHandle handle) =>
        KernelHandle.TypeOf(handle.DangerousGetHandle()) == HandOver.SemaphoreType;

    /// <summary>One sleeping thread. Its members are called under the lock, but for the sleep.</summary>
    private sealed class Sleeper : IDisposable
    {
        private readonly KernelHandle _event = KernelHandle.CreateEvent();
        private KernelHandle? _semaphore;
        private bool _isWoken;

        public bool IsForData { get; private set; }

        public void Begin(bool isForData, KernelHandle semaphore)
        {
            IsForData = isForData;
            bool isKept = false;
            semaphore.DangerousAddRef(ref isKept);
            _semaphore = semaphore;
        }

        public void End()
        {
            _semaphore!.DangerousRelease();
            if (_isWoken)
            {
                // The sleep may not have come, or may have had another reason to end.
                _ = WindowsNative.ResetEvent(_event);
                _isWoken = false;
            }
        }

        public void Wake()
        {
            _isWoken = true;
            _ = WindowsNative.SetEvent(_event);
        }

        public uint Sleep(uint milliseconds)
        {
            // Without memory for the event, the wake-ups of the peer alone end the sleep, and its timeout.
            nint* handles = stackalloc nint[2];
            handles[0] = _semaphore!.DangerousGetHandle();
            handles[1] = _event.DangerousGetHandle();
            return WindowsNative.WaitForMultipleObjects(_event.IsInvalid ? 1u : 2u, handles, all: 0, milliseconds);
        }

        public void Dispose() => _event.Dispose();
    }
}
