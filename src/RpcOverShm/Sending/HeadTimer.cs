using System.Diagnostics;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Sending;

/// <summary>
/// The time limit of the incomplete heads of one connection: one due time for all, which runs only while there is such
/// a head. A head that is late ends its call. The holder of the reader role adds.
/// </summary>
internal sealed class HeadTimer(TimeSpan limit) : IDisposable
{
    private readonly Gate _gate = new();
    private readonly LinkedList<(ConnectionCall Call, HeadAssembly Head, long Since)> _heads = new();
    private DueTime? _due;
    private bool _isDisposed;

    /// <summary>Starts the time of a head whose first part has come.</summary>
    public void Add(ConnectionCall call, HeadAssembly head)
    {
        using (_gate.Enter())
        {
            LinkedListNode<(ConnectionCall, HeadAssembly, long)> place =
                _heads.AddLast((call, head, Stopwatch.GetTimestamp()));
            head.OnFreed = () => Remove(place);
            if (_heads.Count == 1)
            {
                Schedule(limit);
            }
        }
    }

    /// <summary>Stops, with the connection.</summary>
    public void Dispose()
    {
        using (_gate.Enter())
        {
            _isDisposed = true;
            _heads.Clear();
            _due?.Dispose();
        }
    }

    private void OnDue()
    {
        var late = new List<(ConnectionCall Call, HeadAssembly Head, long)>();
        using (_gate.Enter())
        {
            while (_heads.First is { } first)
            {
                TimeSpan left = limit - Stopwatch.GetElapsedTime(first.Value.Since);
                if (left > TimeSpan.Zero)
                {
                    Schedule(left);
                    break;
                }

                _heads.RemoveFirst();
                late.Add(first.Value);
            }
        }

        // Outside the gate: a head takes it to leave the list.
        foreach ((ConnectionCall call, HeadAssembly head, _) in late)
        {
            if (head.Drop())
            {
                call.OnHeadLate(limit);
            }
        }
    }

    private void Remove(LinkedListNode<(ConnectionCall, HeadAssembly, long)> place)
    {
        using (_gate.Enter())
        {
            place.List?.Remove(place);
        }
    }

    // Under the gate.
    private void Schedule(TimeSpan time)
    {
        if (!_isDisposed)
        {
            _due?.Dispose();
            _due = new DueTime(time, OnDue);
        }
    }
}
