using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Retries;

/// <summary>
/// The requests of one call, kept for as long as another attempt may need them. Each attempt is sent all of them from
/// the first one on; a write is done when any attempt has taken its message. One writer, one sending attempt at a time;
/// any thread may end it.
/// </summary>
internal sealed class RetryBuffer(RetryBudget budget)
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
    private bool _isOverflowing;
    private Exception? _end;

    /// <summary>True when the requests are too many to be kept: the next attempt, or this one, is the last.</summary>
    public bool IsOverflowing => Volatile.Read(ref _isOverflowing);

    /// <summary>Keeps the one request of a call that has no stream of them.</summary>
    public void Keep(SerializedMessage message)
    {
        lock (_gate)
        {
            Charge(message.Length);
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

            Charge(message.Length);
            _entries.Add(entry);
            more = TakeMore();
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
            more = TakeMore();
        }

        more?.SetResult();
    }

    /// <summary>
    /// The attempt has failed, and the next one begins anew with the first request. Nothing is dropped from now on, and
    /// what the failed one still says counts for nothing. False when the requests are not all there.
    /// </summary>
    public bool TryRestart()
    {
        TaskCompletionSource? more;
        lock (_gate)
        {
            if (_isFinal || _isOverflowing)
            {
                return false;
            }

            _sender++;
            _sent = 0;
            more = TakeMore();
        }

        more?.SetResult();
        return true;
    }

    /// <summary>No other attempt follows: what this one was sent need not be kept.</summary>
    public void MarkFinal()
    {
        lock (_gate)
        {
            _isFinal = true;
            budget.GiveBack(_keptBytes);
            _keptBytes = 0;
            DropSent();
        }
    }

    /// <summary>The call has ended: writes that no attempt has taken fail, as do later ones.</summary>
    public void End(Exception end)
    {
        Entry[] waiting;
        TaskCompletionSource? more;
        lock (_gate)
        {
            _end ??= end;
            waiting = [.. _entries];
            _entries.Clear();
            more = TakeMore();
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

    /// <summary>
    /// Sends an attempt all requests, those that are still to come too, until it takes no more or another one follows.
    /// </summary>
    /// <returns>What has kept the attempt from taking more; null for nothing.</returns>
    public async Task<Exception?> SendAsync(IClientStreamWriter<SerializedMessage> to)
    {
        int sender = CurrentSender;
        try
        {
            for (int next = 0; await NextAsync(sender, next).ConfigureAwait(false) is { } entry; next++)
            {
                to.WriteOptions = entry.Options;
                await to.WriteAsync(entry.Message).ConfigureAwait(false);
                entry.Written.TrySetResult();
                RecordSent(sender, next + 1);
            }

            if (IsToBeCompleted(sender))
            {
                await to.CompleteAsync().ConfigureAwait(false);
            }

            return null;
        }
        catch (Exception exception)
        {
            // The attempt has ended; whatever it says, those who write are to hear of it, if it is the last one.
            return exception;
        }
    }

    private int CurrentSender
    {
        get
        {
            lock (_gate)
            {
                return _sender;
            }
        }
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

    private void RecordSent(int sender, int count)
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
        if (_isFinal)
        {
            int count = Math.Clamp(_sent - _dropped, 0, _entries.Count);
            _entries.RemoveRange(0, count);
            _dropped += count;
        }
    }

    // Under the gate. What does not fit into the budget is not counted: its attempt is the last one.
    private void Charge(int bytes)
    {
        if (_isFinal || _isOverflowing)
        {
            return;
        }

        if (budget.TryTake(bytes, _keptBytes))
        {
            _keptBytes += bytes;
        }
        else
        {
            Volatile.Write(ref _isOverflowing, true);
        }
    }

    // Under the gate.
    private TaskCompletionSource? TakeMore()
    {
        TaskCompletionSource? more = _more;
        _more = null;
        return more;
    }

    private sealed record Entry(SerializedMessage Message, WriteOptions? Options)
    {
        public TaskCompletionSource Written { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
