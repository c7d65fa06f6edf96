using System.Threading.Tasks.Sources;
using RpcOverShm.Buffers;
using RpcOverShm.Connections;

namespace RpcOverShm.Calls;

/// <content>The wait of the reader for the next message.</content>
internal sealed partial class InboundMessages
{
    private ManualResetValueTaskSourceCore<bool> _wait;
    private bool _isReaderWaiting;  // and no wake-up is due yet
    private bool _isWakeDue;        // the reader's wait must be completed
    private CancellationToken _cancelledBy;

    /// <summary>Resumes a reader whose wake-up is due. Only as pending user code, because it runs the reader.</summary>
    public void CompleteWait()
    {
        CancellationToken cancelledBy;
        using (_lock.Enter())
        {
            if (!_isWakeDue)
            {
                return;
            }

            _isWakeDue = false;
            cancelledBy = _cancelledBy;
            _cancelledBy = default;
        }

        if (cancelledBy.IsCancellationRequested)
        {
            _wait.SetException(new OperationCanceledException(cancelledBy));
        }
        else
        {
            _wait.SetResult(true);
        }
    }

    /// <summary>
    /// Waits until a message is complete or none follows. One reader at a time: its next wait begins after this one has
    /// ended. After a cancellation the reader may wait again.
    /// </summary>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public ValueTask WaitAsync(CancellationToken cancellationToken) =>
        cancellationToken.CanBeCanceled ? WaitCancellablyAsync(cancellationToken) : BeginWait();

    void IValueTaskSource.GetResult(short token) => _wait.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _wait.GetStatus(token);

    void IValueTaskSource.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _wait.OnCompleted(continuation, state, token, flags);

    private ValueTask BeginWait()
    {
        long credit;
        short version;
        using (_lock.Enter())
        {
            bool isOfSource = _source is { IsAtEnd: false };
            if (isOfSource ? _source!.HasNext : _queue.Count > 0 || _isEnded)
            {
                return ValueTask.CompletedTask;
            }

            _isReaderWaiting = true;
            _wait.Reset();
            version = _wait.Version;

            // A message may exceed the window, so its parts count as read while a reader waits for it.
            credit = Consume(_partialCost);
            _partialCost = 0;
        }

        Grant(credit);
        if (Volatile.Read(ref _source)?.TryWait(this) == false)
        {
            ((IMessageWaiter)this).OnMessages(); // it has come meanwhile
            call.QueueUserCode();
        }

        return new ValueTask(this, version);
    }

    private async ValueTask WaitCancellablyAsync(CancellationToken cancellationToken)
    {
        ValueTask wait = BeginWait();
        using (cancellationToken.UnsafeRegister(
            static (messages, token) => ((InboundMessages)messages!).CancelWait(token), this))
        {
            await wait.ConfigureAwait(false);
        }
    }

    private void CancelWait(CancellationToken cancellationToken)
    {
        using (_lock.Enter())
        {
            if (!RecordWake())
            {
                return;
            }

            _cancelledBy = cancellationToken;
        }

        call.QueueUserCode();
    }

    // Under the lock. Lets a waiting reader resume: notes it as pending user code, which the holder of the reader role
    // runs or queues. Returns false if no reader waits, or its wake-up is due already.
    private bool RecordWake()
    {
        if (!_isReaderWaiting)
        {
            return false;
        }

        _isReaderWaiting = false;
        _isWakeDue = true;
        call.AddUserCode(PendingUserCode.WakeReader);
        return true;
    }
}
