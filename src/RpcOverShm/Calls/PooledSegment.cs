using System.Buffers;

namespace RpcOverShm.Calls;

/// <summary>
/// One array of a message that has several, itself pooled: a large message is to allocate nothing for its pieces.
/// </summary>
internal sealed class PooledSegment : ReadOnlySequenceSegment<byte>
{
    // Those of 64 MiB of messages at a time, in 64 KiB of memory.
    private const int MostFree = 1024;

    // Taken once for each array of a large message, which costs a thousand times as much to copy.
    private static readonly Lock s_lock = new();
    private static PooledSegment? s_free;
    private static int s_freeCount;

    private PooledSegment()
    {
    }

    public byte[] Array { get; private set; } = [];

    public PooledSegment First { get; private set; } = null!;

    /// <summary>The next segment of a chain, which takes over an array of the shared pool.</summary>
    public static PooledSegment Rent(byte[] array, int length, PooledSegment? previous)
    {
        PooledSegment segment = TakeFree() ?? new PooledSegment();
        segment.Array = array;
        segment.Memory = array.AsMemory(0, length);
        segment.First = previous?.First ?? segment;
        if (previous is not null)
        {
            segment.RunningIndex = previous.RunningIndex + previous.Memory.Length;
            previous.Next = segment;
        }

        return segment;
    }

    /// <summary>Gives back a whole chain and its arrays. Once, and nobody may use its bytes afterwards.</summary>
    public static void Return(PooledSegment last)
    {
        PooledSegment first = last.First;
        int count = 0;
        for (PooledSegment segment = first; ; segment = (PooledSegment)segment.Next!)
        {
            ArrayPool<byte>.Shared.Return(segment.Array);
            segment.Array = [];
            segment.Memory = default;
            segment.First = null!;
            segment.RunningIndex = 0;
            count++;
            if (segment == last)
            {
                break;
            }
        }

        lock (s_lock)
        {
            if (s_freeCount + count <= MostFree)
            {
                last.Next = s_free;
                s_free = first;
                s_freeCount += count;
            }
        }
    }

    private static PooledSegment? TakeFree()
    {
        lock (s_lock)
        {
            if (s_free is not { } segment)
            {
                return null;
            }

            s_free = (PooledSegment?)segment.Next;
            s_freeCount--;
            segment.Next = null;
            return segment;
        }
    }
}
