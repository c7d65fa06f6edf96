namespace RpcOverShm.Sending;

/// <summary>The place of a one-way call among those that wait for credit. Guarded by the sender's gate.</summary>
internal sealed class OneWayTurn
{
    private readonly bool _isBlocking;
    private TaskCompletionSource _due;

    public OneWayTurn(bool isBlocking)
    {
        _isBlocking = isBlocking;
        _due = NewSource();
        Node = new LinkedListNode<OneWayTurn>(this);
    }

    public LinkedListNode<OneWayTurn> Node { get; }

    /// <summary>
    /// Completes when the call is to try again. For a blocking call, the continuation signals its thread and runs under
    /// the gate: no thread of the pool is needed for that.
    /// </summary>
    public Task Due => Volatile.Read(ref _due).Task;

    public void Wake() => _due.TrySetResult();

    /// <summary>Has the call wait again, after it tried in vain.</summary>
    public void WaitAgain()
    {
        if (_due.Task.IsCompleted)
        {
            Volatile.Write(ref _due, NewSource());
        }
    }

    private TaskCompletionSource NewSource() => new(
        _isBlocking ? TaskCreationOptions.None : TaskCreationOptions.RunContinuationsAsynchronously);
}
