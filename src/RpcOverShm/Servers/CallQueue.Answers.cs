using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <content>
/// The methods that have ended and wait with their answers, because the client does not read those before. So the
/// queued answers exceed their share by those only that are serialised at the same moment. Meanwhile no method begins:
/// its answer would wait too, and nothing counts it.
/// </content>
internal sealed partial class CallQueue
{
    private readonly Queue<TaskCompletionSource> _answers = new();
    private volatile bool _hasAnswers;
    private LinkedListNode<CallTurn>? _lastPutBack;
    private int _late;

    /// <summary>
    /// The methods that have ended and had to wait before they answer, and whose answer is not queued yet.
    /// </summary>
    public int Late => Volatile.Read(ref _late);

    // Whether no method may begin, because of answers that the client does not read.
    private bool IsHeldByAnswers => Budget.IsFullOfAnswers || Late > 0;

    /// <summary>
    /// Waits until the answer of a method may be queued, or its call has ended. The caller then calls
    /// <see cref="OnAnswered"/>.
    /// </summary>
    public async Task WaitToAnswerAsync(CancellationToken ended)
    {
        Interlocked.Increment(ref _late);
        while (Budget.IsFullOfAnswers && !ended.IsCancellationRequested)
        {
            var turn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            using (_lock.Enter())
            {
                _answers.Enqueue(turn);
                _hasAnswers = true;
            }

            // StoreLoad: the method is in the queue before this thread checks the answers. A thread that has sent
            // answers counts them off before it checks the queue.
            Interlocked.MemoryBarrier();
            if (!Budget.IsFullOfAnswers)
            {
                LetAnswer();
            }

            try
            {
                await turn.Task.WaitAsync(ended).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                turn.TrySetCanceled(CancellationToken.None); // It takes no other's turn.
            }
        }
    }

    /// <summary>Notes that the answer of a method that has waited with it is queued, or that nobody wants it.</summary>
    public void OnAnswered()
    {
        // StoreLoad: uncounted before it looks for waiting calls. A call waits before it looks at this count.
        if (Interlocked.Decrement(ref _late) == 0 && (_hasWaiting || _hasAnswers))
        {
            GoOn();
        }
    }

    /// <summary>
    /// Lets a call wait again whose method is about to begin, while answers hold methods back: many calls may have been
    /// let begin, and queued to the thread pool, before the first answer was there. Returns whether it waits, or was
    /// refused.
    /// </summary>
    public bool TryPutBack(ServerCall call, int requestBytes)
    {
        if (!IsHeldByAnswers || call.IsOneWay || call.IsEnded || call.Turn is { IsNested: true })
        {
            return false;
        }

        CallTurn turn = call.Turn ??= new CallTurn(call);
        _places.OnEnded(turn); // A call of another connection takes its place.
        Status? refusal;
        using (_lock.Enter())
        {
            turn.IsUnbegun = true;
            Interlocked.Increment(ref _unbegun);
            refusal = _isStopping && turn.Caller is null
                ? StatusMapping.ServerStopping
                : TryWait(turn, requestBytes);
            if (refusal is null)
            {
                MoveForward(turn.Node);
            }
        }

        if (refusal is { } why)
        {
            call.Refuse(why);
            return true;
        }

        BeginOrLeave(turn);
        return true;
    }

    /// <summary>Lets a few methods answer. The end of each lets others.</summary>
    private void LetAnswer()
    {
        using (_lock.Enter())
        {
            int let = 0;
            while (let < MostPerEvent
                && !Budget.IsFullOfAnswers
                && _answers.TryDequeue(out TaskCompletionSource? turn))
            {
                let += turn.TrySetResult() ? 1 : 0;
            }

            _hasAnswers = _answers.Count > 0;
        }
    }
    // Under the lock: behind those that were put back before, and in front of the others, which came later.
    private void MoveForward(LinkedListNode<CallTurn> node)
    {
        _waiting.Remove(node);
        if (_lastPutBack is { } last && last.List == _waiting)
        {
            _waiting.AddAfter(last, node);
        }
        else
        {
            _waiting.AddFirst(node);
        }

        _lastPutBack = node;
    }
}
