using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>
/// The requests of one call, kept for as long as another attempt may need them. Each attempt is sent all of them from
/// the first one on; a write is done when any attempt has taken its message. One writer, one sending attempt at a time;
/// any thread may end it.
/// </summary>
internal sealed class RequestLog(RetryBudget budget)
{
    private readonly Lock _gate = new();
    private readonly List<Entry> _entries = [];
    private TaskCompletionSource? _more; // of an attempt that has sent all
    private long _keptBytes;
    private int _dropped;                // entries that were dropped from the front
    private bool _isComplete;
    private bool _isFinal;               // no other attempt follows
    private Exception? _failure;         // why the sending attempt takes no more
    private Exception? _end;

    /// <summary>True when the requests are too many to be kept: there can be no other attempt.</summary>
    public bool IsOverflowing { get; private set; }

    /// <summary>Keeps the one request of a call that has no stream of them.</summary>
    public void Keep(SerializedMessage message)
    {
        lock (_gate)
        {
            IsOverflowing = !budget.TryTake(message.Length, _keptBytes);
            _keptBytes = IsOverflowing ? 0 : message.Length;
        }
    }

    /// <summary>Adds a request. Completes when an attempt has taken it, or fails with the call.</summary>
    public Task WriteAsync(SerializedMessage message, WriteOptions? options)
    {
        var entry = new Entry(message, options);
        TaskCompletionSource? more;
        lock (_gate)
        {
            if (_end is not null)
            {
                return Task.FromException(_end);
            }

            if (!_isFinal && !IsOverflowing)
            {
                IsOverflowing = !budget.TryTake(message.Length, _keptBytes);
                _keptBytes += IsOverflowing ? 0 : message.Length;
            }

            _entries.Add(entry);
            more = _more;
            _more = null;
        }

        more?.SetResult();
        return entry.Written.Task;
    }

    /// <summary>No more requests follow.</summary>
    public void Complete()
    {
        TaskCompletionSource? more;
        lock (_gate)
        {
            _isComplete = true;
            more = _more;
            _more = null;
        }

        more?.SetResult();
    }

    /// <summary>No other attempt follows: what this one was sent need not be kept.</summary>
    public void NoteFinal()
    {
        Exception? failure;
        lock (_gate)
        {
            _isFinal = true;
            budget.GiveBack(_keptBytes);
            _keptBytes = 0;
            failure = _failure;
        }

        if (failure is not null)
        {
            End(failure);
        }
    }

    /// <summary>Sends an attempt all requests, those that are still to come too, until it takes no more.</summary>
    public async Task SendAsync(RequestStreamWriter<SerializedMessage> to)
    {
        lock (_gate)
        {
            _failure = null;
        }

        try
        {
            for (int next = 0; await NextAsync(next).ConfigureAwait(false) is { } entry; next++)
            {
                to.WriteOptions = entry.Options;
                await to.WriteAsync(entry.Message).ConfigureAwait(false);
                entry.Written.TrySetResult();
                DropTaken(next);
            }

            if (_end is null)
            {
                await to.CompleteAsync().ConfigureAwait(false);
            }
        }
        catch (Exception exception) when (exception is RpcException or OperationCanceledException)
        {
            NoteFailure(exception);
        }
    }

    /// <summary>Null when there are no more.</summary>
    private async Task<Entry?> NextAsync(int index)
    {
        while (true)
        {
            Task more;
            lock (_gate)
            {
                int place = index - _dropped;
                if (_end is not null || (place == _entries.Count && _isComplete))
                {
                    return null;
                }

                if (place < _entries.Count)
                {
                    return _entries[place];
                }

                _more ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                more = _more.Task;
            }

            await more.ConfigureAwait(false);
        }
    }

    // The call has ended: writes that no attempt has taken fail.
    private void End(Exception end)
    {
        Entry[] waiting;
        TaskCompletionSource? more;
        lock (_gate)
        {
            _end = end;
            waiting = [.. _entries];
            _entries.Clear();
            more = _more;
            _more = null;
        }

        more?.SetResult();
        foreach (Entry entry in waiting)
        {
            if (entry.Written.TrySetException(end))
            {
                _ = entry.Written.Task.Exception;
            }
        }
    }

    private void NoteFailure(Exception exception)
    {
        bool isFinal;
        lock (_gate)
        {
            _failure = exception;
            isFinal = _isFinal;
        }

        if (isFinal)
        {
            End(exception);
        }
    }

    private void DropTaken(int index)
    {
        lock (_gate)
        {
            if ((_isFinal || IsOverflowing) && _entries.Count > 0)
            {
                int count = Math.Min(index + 1 - _dropped, _entries.Count);
                _entries.RemoveRange(0, count);
                _dropped += count;
            }
        }
    }

    private sealed record Entry(SerializedMessage Message, WriteOptions? Options)
    {
        public TaskCompletionSource Written { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
