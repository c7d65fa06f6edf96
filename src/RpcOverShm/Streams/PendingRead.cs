using System.Threading.Tasks.Sources;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Streams;

/// <summary>
/// The wait of an asynchronous read for data, one at a time. The event loop completes it; the read continues on the
/// thread pool. Thread-safe.
/// </summary>
/// <param name="request">Requests the event loop, which then completes the wait as soon as there is something.</param>
internal sealed class PendingRead(Action request) : IValueTaskSource
{
    private readonly Gate _gate = new();
    private ManualResetValueTaskSourceCore<bool> _source = new() { RunContinuationsAsynchronously = true };
    private volatile bool _isWaiting;
    private bool _isClosed;

    /// <summary>Whether a read waits.</summary>
    public bool IsWaiting => _isWaiting;

    /// <summary>Completes when there may be data or the link has closed.</summary>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async ValueTask WaitAsync(CancellationToken cancellationToken)
    {
        ValueTask read;
        using (_gate.Enter())
        {
            if (_isClosed)
            {
                return;
            }

            _source.Reset();
            _isWaiting = true;
            read = new ValueTask(this, _source.Version);
        }

        request();
        using (cancellationToken.UnsafeRegister(static wait => ((PendingRead)wait!).Complete(), this))
        {
            await read.ConfigureAwait(false);
        }

        // Here and not by the canceller, which may have no memory for the exception.
        cancellationToken.ThrowIfCancellationRequested();
    }

    /// <summary>Completes the wait, if a read waits.</summary>
    public void Complete()
    {
        using (_gate.Enter())
        {
            if (_isWaiting)
            {
                _isWaiting = false;
                _source.SetResult(true);
            }
        }
    }

    /// <summary>Completes the wait and lets no other begin.</summary>
    public void Close()
    {
        using (_gate.Enter())
        {
            _isClosed = true;
        }

        Complete();
    }

    void IValueTaskSource.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);
}
