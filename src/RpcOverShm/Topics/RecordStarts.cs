using System.Numerics;

namespace RpcOverShm.Topics;

/// <summary>
/// The private memory of a writer of where records begin: the first one in each of the 16 steps of its ring. The steps
/// are a power of two. A writer must not find that out by reading its ring.
/// </summary>
internal sealed class RecordStarts(long stepBytes)
{
    private const int Steps = 16;

    private readonly TopicStart[] _starts = new TopicStart[Steps];
    private readonly int _shift = BitOperations.Log2((ulong)stepBytes);

    /// <summary>Adds the start of the next record.</summary>
    public void Add(long position, long sequence)
    {
        long step = position >> _shift;
        ref TopicStart start = ref _starts[step % Steps];
        if (start.Position >> _shift != step)
        {
            start = new TopicStart(position, sequence);
        }
    }

    /// <summary>
    /// Returns the first known start from a position on, or the given one if no other is known. It is less than a step
    /// behind the first record there.
    /// </summary>
    public TopicStart FirstFrom(long position, TopicStart next)
    {
        // A step in which no record begins, because a large one covers it, still has a start of an earlier lap.
        for (long step = position >> _shift; step <= next.Position >> _shift; step++)
        {
            TopicStart start = _starts[step % Steps];
            if (start.Position >> _shift == step && start.Position >= position)
            {
                return start;
            }
        }

        return next;
    }
}

/// <summary>A position at which a record begins or will begin, and the number of its message.</summary>
internal readonly record struct TopicStart(long Position, long Sequence);
