using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Servers;

/// <content>
/// Back-pressure for a client that does not read its responses: methods that have ended wait before they queue theirs.
/// So the queued responses exceed their share only by those that are serialised at the same moment. Meanwhile no method
/// begins, unless its call borrows a place: its response would wait too, and nothing counts it.
/// </content>
internal sealed partial class ServerConnection
{
    private const int MostAnswersPerEvent = 2;

    private readonly Gate _answersLock = new();
    private readonly LinkedList<TaskCompletionSource> _answers = new();
    private volatile bool _hasAnswers;
    private int _late;
    private int _isPumpQueued; // 1 while a thread pool item will look for who may go on

    /// <summary>The bytes that the connection makes the server keep.</summary>
    public BufferBudget Budget { get; }

    /// <summary>
    /// The methods that have ended and had to wait before they answer, and whose answer is not queued yet.
    /// </summary>
    public int Late => Volatile.Read(ref _late);

    // Whether no method may begin, because of answers that the client does not read.
    private bool IsPausedByAnswers => Budget.IsSendQueueFull || Late > 0;

    /// <summary>
    /// Waits until the answer of a method may be queued, or its call has ended. The caller then calls
    /// <see cref="OnAnswered"/>.
    /// </summary>
    public async Task WaitToAnswerAsync(CancellationToken ended)
    {
        Interlocked.Increment(ref _late);
        while (Budget.IsSendQueueFull && !ended.IsCancellationRequested)
        {
            var turn = new LinkedListNode<TaskCompletionSource>(
                new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));
            using (_answersLock.Enter())
            {
                _answers.AddLast(turn);
                _hasAnswers = true;
            }

            // StoreLoad: the method is in the queue before this thread checks the answers. A thread that has sent
            // answers counts them off before it checks the queue.
            Interlocked.MemoryBarrier();
            if (!Budget.IsSendQueueFull)
            {
                LetAnswer();
            }

            try
            {
                await turn.Value.Task.WaitAsync(ended).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                using (_answersLock.Enter())
                {
                    turn.List?.Remove(turn);
                    _hasAnswers = _answers.Count > 0;
                }
            }
        }
    }

    /// <summary>Notes that the answer of a method that has waited with it is queued, or that nobody wants it.</summary>
    public void OnAnswered()
    {
        // StoreLoad: uncounted before it looks for waiting calls. A call waits before it looks at this count.
        int late = Interlocked.Decrement(ref _late);
        if (_hasAnswers)
        {
            LetAnswer();
        }

        if (late == 0 && _connectionGate.Waiting > 0)
        {
            _connectionGate.LetIn();
        }
    }

    /// <summary>Lets a few methods answer. The end of each lets others.</summary>
    private void LetAnswer()
    {
        using (_answersLock.Enter())
        {
            for (int let = 0; let < MostAnswersPerEvent && _answers.Count > 0 && !Budget.IsSendQueueFull; let++)
            {
                _answers.First!.Value.SetResult();
                _answers.RemoveFirst();
            }

            _hasAnswers = _answers.Count > 0;
        }
    }

    // Also called under a sender's gate.
    private void QueuePump()
    {
        if ((_connectionGate.Waiting > 0 || _hasAnswers) && Interlocked.Exchange(ref _isPumpQueued, 1) == 0)
        {
            PoolWork.Queue(
                static connection =>
                {
                    Volatile.Write(ref connection._isPumpQueued, 0);
                    Interlocked.MemoryBarrier();
                    connection.LetAnswer();
                    connection._connectionGate.LetIn(mayBorrow: true);
                },
                this);
        }
    }
}
