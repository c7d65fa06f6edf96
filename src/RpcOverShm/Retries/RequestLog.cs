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
    private int _sent;                   // entries that the attempt has taken
    private int _sender;                 // which attempt is sending; earlier ones have nothing to say any more
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
            DropSent();
            failure = _failure;
        }

        if (failure is not null)
        {
            End(failure);
        }
    }

    /// <summary>
    /// Sends an attempt all requests, those that are still to come too, until it takes no more or the next one sends.
    /// </summary>
    public async Task SendAsync(RequestStreamWriter<SerializedMessage> to)
    {
        int sender = Begin();
        try
        {
            for (int next = 0; await NextAsync(sender, next).ConfigureAwait(false) is { } entry; next++)
            {
                to.WriteOptions = entry.Options;
                await to.WriteAsync(entry.Message).ConfigureAwait(false);
                entry.Written.TrySetResult();
                NoteSent(sender, next + 1);
            }

            if (IsToBeCompleted(sender))
            {
                await to.CompleteAsync().ConfigureAwait(false);
            }
        }
        catch (Exception exception)
        {
            // The attempt has ended; whatever it says, those who write are to hear of it, if it is the last one.
            NoteFailure(sender, exception);
        }
    }

    private int Begin()
    {
        int sender;
        TaskCompletionSource? more;
        lock (_gate)
        {
            sender = ++_sender;
            _sent = 0;
            _failure = null;
            more = _more;
            _more = null;
        }

        more?.SetResult();
        return sender;
    }

    private bool IsToBeCompleted(int sender)
    {
        lock (_gate)
        {
            return sender == _sender && _end is null;
        }
    }

    /// <summary>Null when there are no more.</summary>
    private async Task<Entry?> NextAsync(int sender, int index)
    {
        while (true)
        {
            Task more;
            lock (_gate)
            {
                int place = index - _dropped;
                if (sender != _sender || _end is not null || (place == _entries.Count && _isComplete))
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

    private void NoteFailure(int sender, Exception exception)
    {
        bool isLast;
        lock (_gate)
        {
            if (sender != _sender)
            {
                return;
            }

            _failure = exception;
            isLast = _isFinal;
        }

        if (isLast)
        {
            End(exception);
        }
    }

    private void NoteSent(int sender, int count)
    {
        lock (_gate)
        {
            if (sender == _sender)
            {
                _sent = count;
                DropSent();
            }
        }
    }

    // Under the gate. What no other attempt will need is let go of.
    private void DropSent()
    {
        if (_isFinal || IsOverflowing)
        {
            int count = Math.Clamp(_sent - _dropped, 0, _entries.Count);
            _entries.RemoveRange(0, count);
            _dropped += count;
        }
    }

    private sealed record Entry(SerializedMessage Message, WriteOptions? Options)
    {
        public TaskCompletionSource Written { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
