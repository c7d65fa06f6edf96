using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Retries;

/// <summary>
/// The requests of one call, kept while another attempt may need them. Each attempt is sent all of them, beginning with
/// the first; a write completes when any attempt has taken its message. Supports one writer and one sending attempt at
/// a time; any thread may end the buffer.
/// </summary>
internal sealed class RetryBuffer(RetryBudget budget)
{
    /// <summary>The cost of a kept request besides its bytes: its objects and its place in the list.</summary>
    public const int BytesPerRequest = 208;

    private readonly UninterruptibleLock _lock = new();
    private readonly List<Entry> _entries = [];
    private TaskCompletionSource? _more; // wakes an attempt that has sent all entries
    private long _keptBytes;
    private int _dropped;                // entries dropped from the front
    private int _sent;                   // entries that the sending attempt has taken
    private int _sender;                 // number of the sending attempt; results of earlier ones are ignored
    private bool _isComplete;            // half-closed: no request follows
    private bool _isFinal;               // no other attempt follows
    private bool _isOverflowing;
    private Exception? _end;

    /// <summary>Whether the requests exceed the budget: the attempt in flight or the next one is the last.</summary>
    public bool IsOverflowing => Volatile.Read(ref _isOverflowing);

    /// <summary>Charges the single request of a call without a request stream to the budget.</summary>
    public void Keep(SerializedMessage message)
    {
        using (_lock.Enter())
        {
            Charge(message.Length);
        }
    }

    /// <summary>Adds a request. Returns true when an attempt has taken the request, or fails with the call.</summary>
    public Task<bool> WriteAsync(SerializedMessage message, WriteOptions? options)
    {
        var entry = new Entry(message, options);
        using (_lock.Enter())
        {
            if (_end is not null)
            {
                return Task.FromException<bool>(_end);
            }

            Charge(message.Length);
            _entries.Add(entry);
            WakeSender();
        }

        return entry.Written.Task;
    }

    /// <summary>Marks the end of the requests.</summary>
    public void Complete()
    {
        using (_lock.Enter())
        {
            _isComplete = true;
            WakeSender();
        }
    }

    /// <summary>
    /// Rewinds to the first request for the next attempt; results of the failed attempt are ignored from here on.
    /// Returns false if no attempt may follow: one is committed, or the requests exceed the budget.
    /// </summary>
    public bool TryRestart()
    {
        using (_lock.Enter())
        {
            if (_isFinal || _isOverflowing)
            {
                return false;
            }

            _sender++;
            _sent = 0;
            WakeSender();
        }

        return true;
    }

    /// <summary>Marks the current attempt as the last one, and drops the requests that it has taken.</summary>
    public void MarkFinal()
    {
        using (_lock.Enter())
        {
            _isFinal = true;
            budget.GiveBack(_keptBytes);
            _keptBytes = 0;
            DropSent();
        }
    }

    /// <summary>Ends the call: pending and later writes fail.</summary>
    public void End(Exception end)
    {
        Entry[] waiting;
        using (_lock.Enter())
        {
            _end ??= end;
            waiting = [.. _entries];
            _entries.Clear();
            WakeSender();
        }

        foreach (Entry entry in waiting)
        {
            if (entry.Written.TrySetException(end))
            {
                _ = entry.Written.Task.Exception;
            }
        }
    }

    /// <summary>
    /// Sends all requests to an attempt, including later ones, until the attempt ends or another one follows.
    /// </summary>
    /// <returns>The exception with which the attempt refused a request; null if it refused none.</returns>
    public async Task<Exception?> SendAsync(IClientStreamWriter<SerializedMessage> to)
    {
        int sender = Volatile.Read(ref _sender);
        try
        {
            for (int next = 0; await NextAsync(sender, next).ConfigureAwait(false) is { } entry; next++)
            {
                to.WriteOptions = entry.Options;
                await to.WriteAsync(entry.Message).ConfigureAwait(false);
                entry.Written.TrySetResult(true);
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
            // The attempt has ended. If it is the last one, the caller fails the pending writes.
            return exception;
        }
    }

    private bool IsToBeCompleted(int sender)
    {
        using (_lock.Enter())
        {
            return sender == _sender && _end is null;
        }
    }

    /// <summary>Waits for the next entry of an attempt; returns null if none follows.</summary>
    private async Task<Entry?> NextAsync(int sender, int index)
    {
        while (true)
        {
            Task more;
            using (_lock.Enter())
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
        using (_lock.Enter())
        {
            if (sender == _sender)
            {
                _sent = count;
                DropSent();
            }
        }
    }

    // Under the lock.
    private void DropSent()
    {
        if (_isFinal)
        {
            int count = Math.Clamp(_sent - _dropped, 0, _entries.Count);
            _entries.RemoveRange(0, count);
            _dropped += count;
        }
    }

    // Under the lock. A request beyond the budget is not counted: it makes the attempt the last one.
    private void Charge(int length)
    {
        if (_isFinal || _isOverflowing)
        {
            return;
        }

        long bytes = BytesPerRequest + (long)length;
        if (budget.TryTake(bytes, _keptBytes))
        {
            _keptBytes += bytes;
        }
        else
        {
            Volatile.Write(ref _isOverflowing, true);
        }
    }

    // Under the lock; the sender continues on the thread pool.
    private void WakeSender()
    {
        _more?.SetResult();
        _more = null;
    }

    private sealed record Entry(SerializedMessage Message, WriteOptions? Options)
    {
        public TaskCompletionSource<bool> Written { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
