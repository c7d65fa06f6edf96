using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Loans;

/// <summary>
/// A piece of a data file, whose mapping lives while the piece has a use. If its owner never disposes it, the garbage
/// collector finds it and it is given back then: a leak, which is logged. Thread-safe.
/// </summary>
internal abstract class MappedPiece(MappedMemory memory, long offset, int length) : SharedPiece
{
    private int _uses = 1; // the owner's, frames and pins
    private bool _isDisposed;

    [SuppressMessage(
        "Reliability",
        "CA2015",
        Justification = "Only a span of a payload that is never disposed outlives it; users are told to dispose.")]
    ~MappedPiece() => Dispose(disposing: false);

    public override int Length => length;

    public override ReadOnlySpan<byte> UsedBytes => memory.SpanAt(offset, length);

    public override Span<byte> GetSpan()
    {
        ObjectDisposedException.ThrowIf(_isDisposed, typeof(SharedPiece));
        return memory.SpanAt(offset, length);
    }

    public override MemoryHandle Pin(int elementIndex = 0)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)elementIndex, (uint)length);
        ObjectDisposedException.ThrowIf(_isDisposed || !TryAddUse(), typeof(SharedPiece));
        return memory.PinAt(offset + elementIndex, this);
    }

    public override void Unpin() => EndUse();

    public override bool TryAddUse()
    {
        int uses = Volatile.Read(ref _uses);
        while (uses > 0)
        {
            int seen = Interlocked.CompareExchange(ref _uses, uses + 1, uses);
            if (seen == uses)
            {
                return true;
            }

            uses = seen;
        }

        return false;
    }

    public override void EndUse()
    {
        if (Interlocked.Decrement(ref _uses) == 0)
        {
            OnUnused();
        }
    }

    /// <summary>Called once, after the last use. The memory must not be touched afterwards.</summary>
    protected abstract void OnUnused();

    /// <summary>Called on a pool thread if the owner has never disposed the piece.</summary>
    protected abstract void OnLeaked();

    protected override void Dispose(bool disposing)
    {
        if (Interlocked.Exchange(ref _isDisposed, true))
        {
            return;
        }

        if (disposing)
        {
            EndUse();
        }
        else
        {
            // The thread of the finalizers waits for no lock and wakes no peer.
            PoolWork.Queue(
                static piece =>
                {
                    piece.OnLeaked();
                    piece.EndUse();
                },
                this);
        }
    }
}
