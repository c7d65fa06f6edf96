using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Servers;

/// <content>
/// Back-pressure for a client that does not read its responses: a method that has ended waits before it queues its
/// response. So the queued responses exceed their share only by those that are serialised at the same moment. Meanwhile
/// no method starts, except for calls that borrow a place: a further response would also wait, and no budget would
/// bound it.
/// </content>
internal sealed partial class ServerConnection
{
    private const int MaxReleasedPerEvent = 2;

    private readonly UninterruptibleLock _responsesLock = new();
    private readonly LinkedList<TaskCompletionSource> _responseWaiters = new();
    private volatile bool _hasResponseWaiters;
    private int _unsentResponses;
    private int _isResumeQueued; // 1 while a pool item is queued that resumes methods and calls

    /// <summary>The bytes that the connection makes the server keep.</summary>
    public BufferBudget BufferBudget { get; }

    /// <summary>The number of methods that have ended and whose responses had to wait and are not queued yet.</summary>
    public int UnsentResponses => Volatile.Read(ref _unsentResponses);

    // Whether no method may begin, because of responses that the client does not read.
    private bool IsPausedByUnreadResponses => BufferBudget.IsSendQueueFull || UnsentResponses > 0;

    /// <summary>
    /// Waits until the response of a method may be queued or the call has ended. The caller must then call
    /// <see cref="OnResponseQueued"/>.
    /// </summary>
    public async Task WaitToSendResponseAsync(CancellationToken ended)
    {
        Interlocked.Increment(ref _unsentResponses);
        while (BufferBudget.IsSendQueueFull && !ended.IsCancellationRequested)
        {
            var turn = new LinkedListNode<TaskCompletionSource>(
                new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));
            using (_responsesLock.Enter())
            {
                _responseWaiters.AddLast(turn);
                _hasResponseWaiters = true;
            }

            // StoreLoad: the method is in the queue before this thread checks the budget. A thread that has sent
            // responses reduces the budget before it checks the queue.
            Interlocked.MemoryBarrier();
            if (!BufferBudget.IsSendQueueFull)
            {
                ReleaseResponses();
            }

            try
            {
                await turn.Value.Task.WaitAsync(ended).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                using (_responsesLock.Enter())
                {
                    turn.List?.Remove(turn);
                    _hasResponseWaiters = _responseWaiters.Count > 0;
                }
            }
        }
    }

    /// <summary>
    /// Called when the response of a method that had to wait is queued, or is dropped because the call has ended.
    /// </summary>
    public void OnResponseQueued()
    {
        // StoreLoad: the count is reduced before this thread checks for waiting calls. A call is queued before its
        // thread reads the count.
        int unsent = Interlocked.Decrement(ref _unsentResponses);
        if (_hasResponseWaiters)
        {
            ReleaseResponses();
        }

        if (unsent == 0 && _connectionGate.Waiting > 0)
        {
            _connectionGate.LetIn();
        }
    }

    /// <summary>Releases a few waiting methods. When each has queued its response, it releases further ones.</summary>
    private void ReleaseResponses()
    {
        using (_responsesLock.Enter())
        {
            for (int released = 0;
                released < MaxReleasedPerEvent && _responseWaiters.Count > 0 && !BufferBudget.IsSendQueueFull;
                released++)
            {
                _responseWaiters.First!.Value.SetResult();
                _responseWaiters.RemoveFirst();
            }

            _hasResponseWaiters = _responseWaiters.Count > 0;
        }
    }

    // Also called under a sender's gate.
    private void QueueResume()
    {
        if ((_connectionGate.Waiting > 0 || _hasResponseWaiters) && Interlocked.Exchange(ref _isResumeQueued, 1) == 0)
        {
            PoolWork.Queue(
                static connection =>
                {
                    Volatile.Write(ref connection._isResumeQueued, 0);
                    Interlocked.MemoryBarrier();
                    connection.ReleaseResponses();
                    connection._connectionGate.LetIn(mayBorrow: true);
                },
                this);
        }
    }
}
