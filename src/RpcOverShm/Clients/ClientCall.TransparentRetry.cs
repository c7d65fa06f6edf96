using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <content>
/// Transparent retry (gRFC A6): a call that a leaving server has refused before a method saw it is started again over
/// another connection, a few times, and its user does not hear of it. While the request is in the hands of the thread
/// that has started the call, that thread has it started again.
/// </content>
internal abstract partial class ClientCall
{
    // A server that refuses calls has announced that it leaves: the next one is met over another connection.
    private const int MaxTransparentRetries = 3;

    private object? _snapshot; // what the call was made from, or why its answer can't be read: never both
    private RequestOwnership _ownership;
    private byte _transparentRetries;
    private bool _isRefusedUnprocessed; // by a server that leaves

    /// <summary>Keeps what the call is made from; see <see cref="RetrySnapshot.Of"/>.</summary>
    public void KeepSnapshot(object snapshot) => _snapshot = snapshot;

    /// <summary>Makes a call as new that was refused: it is to be started once more. False for any other.</summary>
    public bool TryResetForRetry()
    {
        if (!_isRefusedUnprocessed || !TryDetach())
        {
            return false;
        }

        _isRefusedUnprocessed = false;
        return true;
    }

    /// <summary>Starts a call anew that was refused.</summary>
    private void Retry()
    {
        if (_snapshot is not { } snapshot || !TryResetForRetry())
        {
            return;
        }

        try
        {
            Start(snapshot);
        }
        catch (Exception exception)
        {
            // Whatever it is: nobody else is there to be told.
            FinishUnsent(StatusMapping.FromStartFailure(exception));
        }
    }

    /// <summary>The call is about to be started.</summary>
    /// <param name="isWhole">Whether the first frame takes the one request out of this thread's hands.</param>
    public void MarkStarting(bool isWhole) =>
        _ownership = isWhole ? RequestOwnership.LetGo : RequestOwnership.WithStarter;

    /// <summary>
    /// Nothing of the one request is in the hands of the thread that has started the call any more, which does not
    /// touch the call after this.
    /// </summary>
    public void MarkHandedOver()
    {
        if (Interlocked.Exchange(ref _ownership, RequestOwnership.LetGo) == RequestOwnership.RefusedMeanwhile)
        {
            QueueRetry();
        }
    }

    /// <summary>Starts the call once more, from what was kept of it.</summary>
    protected abstract void Start(object snapshot);

    /// <summary>The call can't be made again any more.</summary>
    protected void ForgetSnapshot() => _snapshot = null;

    /// <summary>The call was answered, and is not made again: its place is free for why that can't be read.</summary>
    protected void KeepProblem(Exception? unreadable) => _snapshot = unreadable;

    /// <summary>What was kept by <see cref="KeepProblem"/>; only after that.</summary>
    protected Exception? Problem => _snapshot as Exception;

    private bool TryMarkRefused()
    {
        bool isRetryable = Waiter is not null || _snapshot is not null;
        if (!isRetryable || IsFinished || HasHeaders || _transparentRetries == MaxTransparentRetries)
        {
            return false;
        }

        _transparentRetries++;
        _isRefusedUnprocessed = true;
        if (Waiter is not null)
        {
            SetDone();
        }
        else if (Interlocked.CompareExchange(
            ref _ownership, RequestOwnership.RefusedMeanwhile, RequestOwnership.WithStarter) == RequestOwnership.LetGo)
        {
            QueueRetry();
        }

        return true;
    }

    private void QueueRetry() =>
        ThreadPool.UnsafeQueueUserWorkItem(new RetryWorkItem(this), preferLocal: false);

    /// <summary>
    /// Takes the call from its connection, which has ended it, so that it can be started on another one. False when the
    /// call has ended otherwise meanwhile.
    /// </summary>
    private bool TryDetach()
    {
        // A full fence before the look: whoever ends the call meanwhile finds no connection to tell, or is found.
        Connection refusing = Interlocked.Exchange(ref _connection, null)!;
        if (IsFinished)
        {
            return false;
        }

        if (!refusing.TryLetGo(this))
        {
            Finish(StatusMapping.ServerStopping, isCancel: false);
            return false;
        }

        ResetForRetry();
        return true;
    }

    // The thread pool's way in, which callers of the call do not see.
    private sealed class RetryWorkItem(ClientCall call) : IThreadPoolWorkItem
    {
        public void Execute() => call.Retry();
    }
}

/// <summary>
/// Who has the one request of a call in hand. One byte, which the thread that starts the call and the holder of the
/// reader role race for: whoever comes second starts a refused call anew.
/// </summary>
internal enum RequestOwnership : byte
{
    /// <summary>The thread that starts the call, or nobody yet: nobody else may serialise it.</summary>
    WithStarter,

    /// <summary>Nobody: the request is in the ring or in the sender's queue.</summary>
    LetGo,

    /// <summary>The thread that starts the call, and the server has refused that meanwhile.</summary>
    RefusedMeanwhile,
}
