using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// Assembles a head that arrives in several records. It drops the head and its later parts if the head exceeds the
/// limit of this side or the budget, or is not complete in time; then only the call of the head fails. The holder of
/// the reader role appends parts; any thread may drop the head. A head in one record is not assembled.
/// </summary>
internal sealed class HeadAssembly(FrameKind kind, FrameFlags flags, int limitBytes, BufferBudget? budget = null)
    : IDisposable
{
    // The memory that an incomplete head and its call use besides the bytes of the head.
    private const int OverheadBytes = 1 << 10;

    private readonly UninterruptibleLock _lock = new();
    private readonly PooledBufferWriter _bytes = new();
    private BufferCharge _charge = new(budget);
    private DueTime? _due; // null without a time limit
    private bool _isEnded; // the head is complete or was dropped

    /// <summary>The kind of the first record.</summary>
    public FrameKind Kind { get; } = kind;

    /// <summary>The flags of the first record.</summary>
    public FrameFlags Flags { get; } = flags;

    /// <summary>Whether the head exceeds this side's limit.</summary>
    public bool IsTooLarge { get; private set; }

    /// <summary>The budget that the head would have exceeded; null if it was not dropped for that.</summary>
    public BufferBudget? Exceeded { get; private set; }

    /// <summary>The bytes so far; for the holder of the reader role, of a head that is not dropped.</summary>
    public ReadOnlySpan<byte> Bytes => _bytes.WrittenSpan;

    /// <summary>
    /// Drops the head if it is not complete within a time, then runs an action. Called before the first part is
    /// appended.
    /// </summary>
    public void DropAfter(TimeSpan limit, Action<TimeSpan> onLate)
    {
        using (_lock.Enter())
        {
            bool isDropped = false; // DueTime runs an action again that has thrown OutOfMemoryException
            _due = new DueTime(limit, () =>
            {
                isDropped = isDropped || Discard();
                if (isDropped)
                {
                    onLate(limit);
                }
            });
        }
    }

    /// <summary>
    /// Appends a part. Returns false at the first one that exceeds the limit or the budget: its bytes, and those before
    /// and after it, are dropped.
    /// </summary>
    public bool Append(ReadOnlySpan<byte> bytes)
    {
        using (_lock.Enter())
        {
            if (_isEnded || IsTooLarge)
            {
                return true;
            }

            IsTooLarge = bytes.Length > limitBytes - _bytes.Length;
            long memory = OverheadBytes + ((_bytes.Length + bytes.Length) * 2L);
            Exceeded = IsTooLarge ? null : _charge.Grow(memory);
            _isEnded = Exceeded is not null;
            if (IsTooLarge || _isEnded)
            {
                Free();
                return false;
            }

            _bytes.Write(bytes);
            return true;
        }
    }

    /// <summary>
    /// Ends the assembling, for the holder of the reader role that has the last part. Returns false if the head was
    /// dropped before. After true, the caller disposes the head.
    /// </summary>
    public bool TryEnd()
    {
        using (_lock.Enter())
        {
            bool isFirst = !_isEnded;
            _isEnded = true;
            return isFirst;
        }
    }

    /// <summary>
    /// Drops the head and its later parts. Returns false if the head was already complete or dropped.
    /// </summary>
    public bool Discard()
    {
        if (!TryEnd())
        {
            return false;
        }

        Dispose();
        return true;
    }

    /// <summary>Frees the bytes. Only the thread that has ended the assembling calls this.</summary>
    public void Dispose()
    {
        using (_lock.Enter())
        {
            _isEnded = true;
            Free();
        }
    }

    // Under the lock.
    private void Free()
    {
        _bytes.Dispose();
        _charge.Release();
        _due?.Dispose();
    }
}
