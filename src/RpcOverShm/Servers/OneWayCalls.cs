using Grpc.Core;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>
/// The one-way calls of one connection whose methods run or wait. They outlive the connection, so a stop of the server
/// finds them here, and the connection keeps its place among those of the server until the last has ended. Thread-safe.
/// </summary>
internal sealed class OneWayCalls
{
    private const int MostKept = 32; // entries of an empty set, which a burst would else leave on each connection

    private readonly Gate _gate = new();
    private readonly HashSet<ServerCall> _calls = [];
    private Guid? _name;
    private uint _lastNumber;
    private Action? _whenEmpty;
    private bool _isStopped;

    /// <summary>Adds an admitted call. Returns false after <see cref="Stop"/>.</summary>
    public bool TryAdd(ServerCall call)
    {
        using (_gate.Enter())
        {
            return !_isStopped && _calls.Add(call);
        }
    }

    /// <summary>Removes a call whose method has ended or will not begin.</summary>
    public void Remove(ServerCall call)
    {
        Action? whenEmpty;
        using (_gate.Enter())
        {
            _calls.Remove(call);
            if (_calls.Count > 0)
            {
                return;
            }

            if (_calls.EnsureCapacity(0) > MostKept)
            {
                _calls.TrimExcess();
            }

            (whenEmpty, _whenEmpty) = (_whenEmpty, null);
        }

        whenEmpty?.Invoke();
    }

    /// <summary>Runs an action once no call is left: at once, or on the thread that removes the last one.</summary>
    public void RunWhenEmpty(Action action)
    {
        using (_gate.Enter())
        {
            if (_calls.Count > 0)
            {
                _whenEmpty += action;
                return;
            }
        }

        action();
    }

    /// <summary>Completes when no call is left; at once if there is none.</summary>
    public Task WhenEmptyAsync()
    {
        var empty = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        RunWhenEmpty(empty.SetResult);
        return empty.Task;
    }

    /// <summary>Ends all calls, and refuses later ones. The tokens of the methods fire.</summary>
    public void Stop(in Status status)
    {
        ServerCall[] calls;
        using (_gate.Enter())
        {
            _isStopped = true;
            calls = [.. _calls];
        }

        foreach (ServerCall call in calls)
        {
            call.Stop(status);
        }
    }

    /// <summary>
    /// Returns a name under which nested calls know a call. It is not that of the wire, which the client may use again
    /// while the method runs.
    /// </summary>
    public ParentCall NextName()
    {
        using (_gate.Enter())
        {
            return new ParentCall(_name ??= Guid.NewGuid(), new CallId(++_lastNumber));
        }
    }
}
