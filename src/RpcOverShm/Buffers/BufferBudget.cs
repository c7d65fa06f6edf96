using RpcOverShm.Diagnostics;

namespace RpcOverShm.Buffers;

/// <summary>
/// Counts the bytes that a peer makes this process keep, and has a limit for them. The budget of a connection is a part
/// of the server's (<paramref name="whole"/>): what it counts, both count. Thread-safe.
/// </summary>
/// <param name="option">The name of the option that sets the limit.</param>
/// <param name="limitBytes">The limit.</param>
/// <param name="whole">The budget of the server; null if this is it.</param>
internal sealed class BufferBudget(string option, long limitBytes, BufferBudget? whole = null)
{
    /// <summary>
    /// The unsent frames that a connection may always have, whatever the other connections of the server keep.
    /// </summary>
    public const long UnsentShareBytes = 1 << 20;

    private readonly UninterruptibleLock _lock = new();
    private readonly HashSet<BufferBudget> _held = []; // parts that begin no calls because of this budget
    private volatile bool _hasHeld;
    private volatile bool _isOver; // the connection has closed
    private long _usedBytes;
    private long _unsentBytes; // of the used bytes, those of unsent frames

    public string Option => option;

    public long LimitBytes => limitBytes;

    /// <summary>The bytes that are counted.</summary>
    public long UsedBytes => Volatile.Read(ref _usedBytes);

    /// <summary>The bytes of unsent frames among them.</summary>
    public long UnsentBytes => Volatile.Read(ref _unsentBytes);

    /// <summary>
    /// Called after frames were sent or dropped, and few enough are unsent for new calls to begin, here or, if the
    /// server's budget was the reason, in all. Set before the first frame is queued. It runs under the gate of a
    /// sender, so it must not wait, send or run user code.
    /// </summary>
    public Action? OnResponsesDrained { get; set; }

    /// <summary>
    /// Whether so many frames are unsent that the connection must begin no more calls: half of its limit; or, while
    /// the server keeps more than half of its own limit, <see cref="UnsentShareBytes"/>.
    /// </summary>
    public bool IsSendQueueFull
    {
        get
        {
            long bytes = Volatile.Read(ref _unsentBytes);
            return bytes > limitBytes / 2 || (bytes > UnsentShareBytes && whole is not null && whole.Holds(this));
        }
    }

    private bool IsHalfUsed => Volatile.Read(ref _usedBytes) > limitBytes / 2;

    /// <summary>Counts bytes. Returns null, or the budget that they would exceed; then nothing is counted.</summary>
    public BufferBudget? Take(long bytes)
    {
        // Counted only if there is room: a large attempt that fails must not make a small one fail.
        long seen;
        long used = Volatile.Read(ref _usedBytes);
        do
        {
            seen = used;
            if (seen + bytes > limitBytes)
            {
                return this;
            }
        }
        while ((used = Interlocked.CompareExchange(ref _usedBytes, seen + bytes, seen)) != seen);

        if (whole?.Take(bytes) is { } full)
        {
            Interlocked.Add(ref _usedBytes, -bytes);
            return full;
        }

        return null;
    }

    /// <summary>Counts bytes, beyond the limit if need be: they are kept already.</summary>
    public void TakeAnyway(long bytes) => Count(bytes);

    /// <summary>Stops counting bytes.</summary>
    public void Give(long bytes) => Count(-bytes);

    /// <summary>Counts an unsent frame, beyond the limit if need be: the code that made it has run already.</summary>
    public void TakeUnsent(long bytes)
    {
        Count(bytes);
        Interlocked.Add(ref _unsentBytes, bytes);
    }

    /// <summary>Stops counting an unsent frame.</summary>
    public void GiveUnsent(long bytes)
    {
        Count(-bytes);
        Interlocked.Add(ref _unsentBytes, -bytes);
        if (!IsSendQueueFull)
        {
            OnResponsesDrained?.Invoke();
        }
    }

    /// <summary>Notes that the connection of this part has closed, so that nothing keeps it.</summary>
    public void End()
    {
        _isOver = true;
        whole?.Forget(this);
    }

    private void Count(long bytes)
    {
        Interlocked.Add(ref _usedBytes, bytes); // StoreLoad: counts before it looks for held parts.
        if (_hasHeld && !IsHalfUsed)
        {
            NotifyHeld();
        }

        whole?.Count(bytes);
    }

    /// <summary>Returns whether a part must begin no calls, and then notes it for the time when it may again.</summary>
    private bool Holds(BufferBudget part)
    {
        if (!IsHalfUsed)
        {
            return false;
        }

        using (_lock.Enter())
        {
            if (!part._isOver)
            {
                _held.Add(part);
                _hasHeld = true;
            }
        }

        Interlocked.MemoryBarrier(); // StoreLoad: noted before it looks again; Count does both in the other order.
        return IsHalfUsed;
    }

    private void Forget(BufferBudget part)
    {
        using (_lock.Enter())
        {
            _held.Remove(part);
        }
    }

    private void NotifyHeld()
    {
        BufferBudget[] held;
        using (_lock.Enter())
        {
            held = [.. _held];
            _held.Clear();
            _hasHeld = false;
        }

        foreach (BufferBudget part in held)
        {
            part.OnResponsesDrained?.Invoke();
        }
    }
}
