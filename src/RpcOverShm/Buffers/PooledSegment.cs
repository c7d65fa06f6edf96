using System.Buffers;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Buffers;

/// <summary>One array of a message that has several. Pooled too, so a large message allocates no segments.</summary>
internal sealed class PooledSegment : ReadOnlySequenceSegment<byte>
{
    // Enough for 64 MiB of messages at a time; the segments themselves take 64 KiB.
    private const int MostFree = 1024;

    // Taken once for each array of a large message, whose copy costs a thousand times as much.
    private static readonly UninterruptibleLock s_lock = new();
    private static PooledSegment? s_free;
    private static int s_freeCount;

    private PooledSegment()
    {
    }

    public byte[] Array { get; private set; } = [];

    public PooledSegment First { get; private set; } = null!;

    /// <summary>Returns the next segment of a chain. It takes ownership of an array of the pools.</summary>
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

    /// <summary>
    /// Returns a whole chain and its arrays to the pools, once. The bytes must not be used afterwards.
    /// </summary>
    public static void Return(PooledSegment last)
    {
        PooledSegment first = last.First;
        int count = 0;
        for (PooledSegment segment = first; ; segment = (PooledSegment)segment.Next!)
        {
            ByteArrays.Return(segment.Array);
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

        using (s_lock.Enter())
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
        using (s_lock.Enter())
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
