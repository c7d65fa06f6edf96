using System.Buffers;

namespace MessagePack.Tests.Fakes;

/// <summary>Sequences of several segments.</summary>
internal sealed class Segment : ReadOnlySequenceSegment<byte>
{
    private Segment(ReadOnlyMemory<byte> memory)
    {
        Memory = memory;
    }

    internal static ReadOnlySequence<byte> Join(params IReadOnlyList<ReadOnlyMemory<byte>> parts)
    {
        var first = new Segment(parts[0]);
        Segment last = first;
        foreach (ReadOnlyMemory<byte> part in parts.Skip(1))
        {
            var next = new Segment(part) { RunningIndex = last.RunningIndex + last.Memory.Length };
            last.Next = next;
            last = next;
        }

        return new ReadOnlySequence<byte>(first, 0, last, last.Memory.Length);
    }

    /// <summary>The bytes in one piece, cut in two at every place, and one by one with nothing in between.</summary>
    internal static IEnumerable<ReadOnlySequence<byte>> EveryCutOf(byte[] bytes)
    {
        yield return new ReadOnlySequence<byte>(bytes);
        for (int at = 0; at <= bytes.Length; at++)
        {
            yield return Join(bytes.AsMemory(0, at), bytes.AsMemory(at));
        }

        yield return Join([.. OneByOne(bytes)]);
    }

    internal static IEnumerable<ReadOnlyMemory<byte>> OneByOne(byte[] bytes)
    {
        yield return default;
        for (int i = 0; i < bytes.Length; i++)
        {
            yield return bytes.AsMemory(i, 1);
            yield return default;
        }
    }
}
