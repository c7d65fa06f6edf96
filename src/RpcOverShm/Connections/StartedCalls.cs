using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <summary>
/// The calls that this side has started: gives out ids and finds calls by them. A slot is free again when the peer's
/// End was read, not before: a given-up call keeps its slot until then. Any thread may add; the holder of the reader
/// role finds and removes.
/// </summary>
internal sealed class StartedCalls(uint maxCalls, bool isFromAcceptor)
{
    private const int FirstSize = 64;

    private readonly Lock _gate = new();
    private ConnectionCall?[] _calls = [];
    private uint[] _generations = [];
    private readonly Stack<int> _free = new();
    private int _used;
    private volatile int _count;
    private TaskCompletionSource? _drained;

    public int Count => _count;

    /// <summary>Gives the call an id, or returns false when as many calls live as the peer takes.</summary>
    public bool TryAdd(ConnectionCall call)
    {
        lock (_gate)
        {
            if (!TryTakeSlot(out int slot))
            {
                return false;
            }

            _generations[slot] = CallId.NextGeneration(_generations[slot]);
            call.Id = new CallId(slot, _generations[slot], isFromAcceptor);
            Volatile.Write(ref _calls[slot], call);
            Interlocked.Increment(ref _count);
            return true;
        }
    }

    /// <summary>
    /// The call with this id. A frame for any other is the peer's fault: it has ended the call itself.
    /// </summary>
    /// <exception cref="ProtocolException">There is no such call.</exception>
    public ConnectionCall Find(CallId id)
    {
        ConnectionCall?[] calls = Volatile.Read(ref _calls);
        ConnectionCall? call = id.Slot < calls.Length ? Volatile.Read(ref calls[id.Slot]) : null;
        return call is not null && call.Id == id
            ? call
            : throw new ProtocolException($"A frame for call {id}, which is not open.");
    }

    public void Remove(ConnectionCall call)
    {
        lock (_gate)
        {
            _calls[call.Id.Slot] = null;
            _free.Push(call.Id.Slot);
            if (Interlocked.Decrement(ref _count) == 0)
            {
                // Whoever asks later waits for the calls of then.
                _drained?.TrySetResult();
                _drained = null;
            }
        }
    }

    /// <summary>
    /// Forgets a call that the peer has never heard of. The peer counts the generations of a slot, so the next call
    /// takes this one's id.
    /// </summary>
    public void Withdraw(ConnectionCall call)
    {
        lock (_gate)
        {
            _generations[call.Id.Slot] = call.Id.Generation - 1;
            Remove(call);
        }
    }

    /// <summary>Completes when no call lives. Calls that begin meanwhile are waited for too.</summary>
    public Task WhenEmptyAsync()
    {
        lock (_gate)
        {
            if (_count == 0)
            {
                return Task.CompletedTask;
            }

            _drained ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            return _drained.Task;
        }
    }

    /// <summary>All calls that live.</summary>
    public ConnectionCall[] Snapshot()
    {
        lock (_gate)
        {
            return [.. _calls.OfType<ConnectionCall>()];
        }
    }

    private bool TryTakeSlot(out int slot)
    {
        if (_free.TryPop(out slot))
        {
            return true;
        }

        if (_used >= maxCalls)
        {
            return false;
        }

        if (_used == _calls.Length)
        {
            int size = Math.Max(FirstSize, _calls.Length * 2);
            var larger = new ConnectionCall?[size];
            _calls.CopyTo(larger, 0);
            Array.Resize(ref _generations, size);
            Volatile.Write(ref _calls, larger);
        }

        slot = _used++;
        return true;
    }
}
