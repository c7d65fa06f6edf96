using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;

namespace RpcOverShm.Calls;

/// <summary>The sets of handles that the peer has sent for one call, in their order, until they are taken.</summary>
internal sealed class HandleQueue
{
    private readonly UninterruptibleLock _lock = new();
    private readonly Queue<HandleSet> _sets = new();
    private bool _isClosed;

    /// <summary>Adds a set that a frame has named. Closes its handles if nobody takes them any more.</summary>
    public void Add(HandleSet set)
    {
        using (_lock.Enter())
        {
            if (!_isClosed)
            {
                _sets.Enqueue(set);
                return;
            }
        }

        set.Close();
    }

    /// <summary>
    /// Takes the next set; none if no frame has named a further one. Waits until its handles are here.
    /// </summary>
    /// <exception cref="RpcException">They do not come.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled before. The set stays.</exception>
    public async ValueTask<SafeFileHandle[]> TakeAsync(CancellationToken cancellationToken)
    {
        while (TryPeek(out HandleSet? set))
        {
            HandleArrival arrival = await set.Arrival.WaitAsync(cancellationToken).ConfigureAwait(false);
            if (!TryRemove(set))
            {
                continue; // another thread has taken it
            }

            return set.TryTake() is { } handles
                ? Array.ConvertAll(handles, static handle => (SafeFileHandle)handle)
                : throw new RpcException(StatusMapping.HandlesMissing(arrival));
        }

        return [];
    }

    /// <summary>Closes what nobody has taken, off this thread. Later sets too, if there is no further call.</summary>
    public void Close(bool isLast = true)
    {
        HandleSet[] sets;
        using (_lock.Enter())
        {
            _isClosed |= isLast;
            sets = [.. _sets];
            _sets.Clear();
        }

        Array.ForEach(sets, static set => set.Close());
    }

    private bool TryPeek([NotNullWhen(true)] out HandleSet? set)
    {
        using (_lock.Enter())
        {
            return _sets.TryPeek(out set);
        }
    }

    private bool TryRemove(HandleSet set)
    {
        using (_lock.Enter())
        {
            return _sets.TryPeek(out HandleSet? first) && ReferenceEquals(first, set) && _sets.TryDequeue(out _);
        }
    }
}
