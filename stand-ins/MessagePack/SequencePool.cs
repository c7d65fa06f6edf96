using System.Buffers;

namespace MessagePack;

/// <summary>
/// Keeps the buffers that messages are written into before they are copied to where they go. Thread-safe.
/// </summary>
/// <remarks>
/// This one keeps none itself: it takes its arrays from a pool of arrays, which does. So the number of buffers to keep
/// is only checked.
/// </remarks>
public class SequencePool
{
    internal static readonly SequencePool Shared = new();

    public SequencePool()
        : this(Environment.ProcessorCount * 2)
    {
    }

    public SequencePool(int maxSize)
        : this(maxSize, ArrayPool<byte>.Shared)
    {
    }

    public SequencePool(int maxSize, ArrayPool<byte> arrayPool)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(maxSize);
        Arrays = arrayPool;
    }

    internal ArrayPool<byte> Arrays { get; }
}
