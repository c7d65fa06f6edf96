using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Clients;

/// <content>
/// Transparent retry (gRFC A6): if a server that shuts down refuses a call before a method has seen it, the call starts
/// again on another connection. That happens up to three times and is not visible to the user. While the thread that
/// starts the call still uses the request, the retry waits until that thread has handed the request over.
/// </content>
internal abstract partial class ClientCall
{
    // A server sends GoAway before it refuses calls, so each retry uses another connection.
    private const int MaxTransparentRetries = 3;

    // The inputs of the call for a retry; for a one-way call, the handler of its failure.
    private object? _snapshotOrHandler;

    private RequestOwnership _ownership;
    private sbyte _retries; // the number so far; negative while the last refusal waits for its retry

    /// <summary>Keeps the inputs of the call for a retry; see <see cref="RetrySnapshot.Of"/>.</summary>
    public void KeepSnapshot(object snapshot) => _snapshotOrHandler = snapshot;

    /// <summary>Resets a refused call, which the caller must then start again. Returns false for any other.</summary>
    public bool TryResetForRetry()
    {
        if (_retries >= 0 || !TryDetach())
        {
            return false;
        }

        _retries = (sbyte)-_retries;
        return true;
    }

    /// <summary>Starts a refused call again.</summary>
    private void Retry()
    {
        if (_snapshotOrHandler is not { } snapshot || !TryResetForRetry())
        {
            return;
        }

        try
        {
            Start(snapshot);
        }
        catch (Exception exception)
        {
            // No caller is left to receive an exception, so any of them becomes the call's status.
            FinishUnsent(StatusMapping.FromStartFailure(exception));
        }
    }

    /// <summary>
    /// Stores, before the call starts, whether its first frame carries the whole request. Not for a blocking call: its
    /// thread starts it again itself.
    /// </summary>
    public void MarkStarting(bool isWhole)
    {
        if (Latch is null)
        {
            _ownership = isWhole ? RequestOwnership.HandedOver : RequestOwnership.WithStarter;
        }
    }

    /// <summary>
    /// Marks that this thread no longer uses the request. If the call was refused meanwhile, queues its retry.
    /// </summary>
    public void MarkHandedOver()
    {
        if (Interlocked.Exchange(ref _ownership, RequestOwnership.HandedOver) == RequestOwnership.RefusedMeanwhile)
        {
            QueueRetry();
        }
    }

    /// <summary>Starts the call again from its snapshot.</summary>
    protected abstract void Start(object snapshot);

    /// <summary>Drops the snapshot: the call cannot be retried from here on.</summary>
    protected void DropSnapshot()
    {
        // A blocking call has no snapshot.
        if (!IsOneWay && Latch is null)
        {
            _snapshotOrHandler = null;
        }
    }

    private bool TryMarkRefused()
    {
        bool isRetryable = !IsOneWay && (Latch is not null || _snapshotOrHandler is not null);
        if (!isRetryable || IsFinished || HasHeaders || _retries == MaxTransparentRetries)
        {
            return false;
        }

        _retries = (sbyte)(-_retries - 1);
        if (Latch is not null)
        {
            EndWait();
        }
        else if (Interlocked.CompareExchange(
                ref _ownership, RequestOwnership.RefusedMeanwhile, RequestOwnership.WithStarter)
            == RequestOwnership.HandedOver)
        {
            QueueRetry();
        }

        return true;
    }

    private void QueueRetry() =>
        PoolWork.Queue(static call => call.Retry(), this);

    /// <summary>
    /// Detaches the call from the connection that has refused it, so that it can start on another one. Returns false if
    /// the call has ended otherwise.
    /// </summary>
    private bool TryDetach()
    {
        // A full fence (StoreLoad) before the check: either a thread that ends the call meanwhile finds no connection,
        // or the check sees the end.
        Connection refusing = Interlocked.Exchange(ref _connection, null)!;
        if (IsFinished)
        {
            return false;
        }

        refusing.Sender.DropRefused(this);
        ResetForRetry();
        return true;
    }
}

/// <summary>
/// The owner of a call's single request. The thread that starts the call hands the request over, and the holder of
/// the reader role may record a refusal: the later of the two queues the retry.
/// </summary>
internal enum RequestOwnership : byte
{
    /// <summary>
    /// The thread that starts the call, or nobody if it has not started. No other thread may serialise the request.
    /// </summary>
    WithStarter,

    /// <summary>No thread: the request is in the ring or in the sender's queue.</summary>
    HandedOver,

    /// <summary>The thread that starts the call, which the server has refused meanwhile.</summary>
    RefusedMeanwhile,
}
