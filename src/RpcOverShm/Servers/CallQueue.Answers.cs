namespace RpcOverShm.Servers;

/// <content>
/// The methods that have ended and wait with their answers, because the client does not read those before. So the
/// queued answers exceed their share by those only that are serialised at the same moment.
/// </content>
internal sealed partial class CallQueue
{
    private readonly Queue<TaskCompletionSource> _answers = new();
    private volatile bool _hasAnswers;

    /// <summary>Waits until the answer of a method may be queued, or its call has ended.</summary>
    public async Task WaitToAnswerAsync(CancellationToken ended)
    {
        while (Budget.IsFullOfAnswers && !ended.IsCancellationRequested)
        {
            var turn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            lock (_lock)
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

    /// <summary>Lets a few methods answer. The end of each lets others.</summary>
    private void LetAnswer()
    {
        lock (_lock)
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
}
