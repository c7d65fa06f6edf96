using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// Assembles a head that arrives in several records, up to this side's limit. Above the limit, without a budget for it
/// or after its time, it drops the rest, so such a head fails only its own call. The holder of the reader role appends;
/// any thread may drop. Heads of one record never come here.
/// </summary>
internal sealed class HeadAssembly(FrameKind kind, FrameFlags flags, int limitBytes, BufferBudget? budget = null)
    : IDisposable
{
    // The objects of an incomplete head and of its call, besides the bytes.
    private const int OverheadBytes = 1 << 10;

    private readonly Gate _gate = new();
    private readonly PooledBufferWriter _bytes = new();
    private BufferCharge _charge = new(budget);
    private DueTime? _due; // null without a time limit
    private bool _isEnded; // whole or dropped

    /// <summary>The kind of the first record.</summary>
    public FrameKind Kind { get; } = kind;

    /// <summary>The flags of the first record.</summary>
    public FrameFlags Flags { get; } = flags;

    /// <summary>Whether the head exceeds this side's limit.</summary>
    public bool IsTooLarge { get; private set; }

    /// <summary>The budget that had no room for the head; null if it was not dropped for that.</summary>
    public BufferBudget? Full { get; private set; }

    /// <summary>The bytes so far; for the holder of the reader role, of a head that is not dropped.</summary>
    public ReadOnlySpan<byte> Bytes => _bytes.WrittenSpan;

    /// <summary>Drops a head that is not whole in time, then runs an action. Called before the first part.</summary>
    public void DropAfter(TimeSpan limit, Action<TimeSpan> onLate)
    {
        using (_gate.Enter())
        {
            bool isDropped = false; // An action that ran out of memory runs again.
            _due = new DueTime(limit, () =>
            {
                isDropped = isDropped || Drop();
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
        using (_gate.Enter())
        {
            if (_isEnded || IsTooLarge)
            {
                return true;
            }

            IsTooLarge = bytes.Length > limitBytes - _bytes.Length;
            long memory = OverheadBytes + ((_bytes.Length + bytes.Length) * 2L);
            Full = IsTooLarge ? null : _charge.TryGrow(memory);
            _isEnded = Full is not null;
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
        using (_gate.Enter())
        {
            return !_isEnded && (_isEnded = true);
        }
    }

    /// <summary>Drops the head, and the parts that still come. Returns false if it had ended before.</summary>
    public bool Drop()
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
        using (_gate.Enter())
        {
            _isEnded = true;
            Free();
        }
    }

    // Under the gate.
    private void Free()
    {
        _bytes.Dispose();
        _charge.Release();
        _due?.Dispose();
    }
}
