using System.Buffers;

namespace RpcOverShm.Buffers;

/// <summary>
/// One pooled array of a message that has several. It has 32 KiB or more, so its segment is not worth a pool.
/// </summary>
internal sealed class PooledSegment : ReadOnlySequenceSegment<byte>
{
    /// <summary>Continues a chain. Takes ownership of an array of the pools.</summary>
    public PooledSegment(byte[] array, int length, PooledSegment? previous)
    {
        Array = array;
        Memory = array.AsMemory(0, length);
        First = previous?.First ?? this;
        if (previous is not null)
        {
            RunningIndex = previous.RunningIndex + previous.Memory.Length;
            previous.Next = this;
        }
    }

    public byte[] Array { get; private set; }

    public PooledSegment First { get; }

    /// <summary>
    /// Returns the arrays of a whole chain to the pools, once. The bytes must not be used afterwards.
    /// </summary>
    public static void Return(PooledSegment last)
    {
        for (PooledSegment? segment = last.First; segment is not null; segment = (PooledSegment?)segment.Next)
        {
            ByteArrays.Return(segment.Array);
            segment.Array = [];
            segment.Memory = default;
        }
    }
}
