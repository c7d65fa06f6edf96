using System.Threading.Tasks.Sources;
using RpcOverShm.Links;

namespace RpcOverShm.Streams;

/// <summary>
/// The thread that waits for the data of asynchronous reads, one wait at a time. <paramref name="wait"/> returns when
/// there is data, or when its argument returns false: no read waits.
/// </summary>
internal sealed class DataWaiter(PeerLink link, Action<Func<bool>> wait)
    : LingeringThread(link, "RpcOverShm stream"), IValueTaskSource
{
    private readonly object _gate = new();
    private ManualResetValueTaskSourceCore<bool> _source = new() { RunContinuationsAsynchronously = true };
    private volatile bool _isReadWaiting;

    /// <summary>Completes on the thread pool when there may be data or the link has closed.</summary>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async ValueTask WaitAsync(CancellationToken cancellationToken)
    {
        ValueTask read;
        lock (_gate)
        {
            _source.Reset();
            _isReadWaiting = true;
            read = new ValueTask(this, _source.Version);
        }

        if (!Wake())
        {
            Complete();
        }

        using (cancellationToken.UnsafeRegister(static (waiter, token) => ((DataWaiter)waiter!).Cancel(token), this))
        {
            await read.ConfigureAwait(false);
        }
    }

    public override void Close()
    {
        // In this order: a read that begins afterwards finds the thread closed, an earlier one is completed here.
        base.Close();
        Complete();
    }

    void IValueTaskSource.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);

    protected override void Serve()
    {
        wait(() => _isReadWaiting);
        Complete();
    }

    private void Complete()
    {
        lock (_gate)
        {
            if (_isReadWaiting)
            {
                _isReadWaiting = false;
                _source.SetResult(true);
            }
        }
    }

    private void Cancel(CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (!_isReadWaiting)
            {
                return;
            }

            _isReadWaiting = false;
            _source.SetException(new OperationCanceledException(cancellationToken));
        }

        // The thread may still be sleeping for the cancelled read.
        Link.RaiseLocalEvent();
    }
}
