using System.Buffers;

namespace RpcOverShm.Calls;

/// <summary>
/// One array of a message that has several, itself pooled: a large message is to allocate nothing for its pieces.
/// </summary>
internal sealed class BytesSegment : ReadOnlySequenceSegment<byte>
{
    // Those of 64 MiB of messages at a time, in 64 KiB of memory.
    private const int MostFree = 1024;

    // Taken once for each array of a large message, which costs a thousand times as much to copy.
    private static readonly Lock s_lock = new();
    private static BytesSegment? s_free;
    private static int s_freeCount;

    private BytesSegment()
    {
    }

    public byte[] Array { get; private set; } = [];

    public BytesSegment First { get; private set; } = null!;

    /// <summary>The next segment of a chain, which takes over an array of the shared pool.</summary>
    public static BytesSegment Rent(byte[] array, int length, BytesSegment? previous)
    {
        BytesSegment segment = TakeFree() ?? new BytesSegment();
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
    public static void Return(BytesSegment last)
    {
        BytesSegment first = last.First;
        int count = 0;
        for (BytesSegment segment = first; ; segment = (BytesSegment)segment.Next!)
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

    private static BytesSegment? TakeFree()
    {
        lock (s_lock)
        {
            if (s_free is not { } segment)
            {
                return null;
            }

            s_free = (BytesSegment?)segment.Next;
            s_freeCount--;
            segment.Next = null;
            return segment;
        }
    }
}
