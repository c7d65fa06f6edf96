using System.Buffers;

namespace MessagePack.Objects;

/// <summary>Names of members as they come in a message.</summary>
internal static class MapKeys
{
    /// <summary>The name's bytes; none for nil.</summary>
    internal static ReadOnlySpan<byte> Take(ref MessagePackReader reader)
    {
        if (reader.TryReadStringSpan(out ReadOnlySpan<byte> key))
        {
            return key;
        }

        return reader.ReadStringSequence() is { } parts ? parts.ToArray() : default;
    }

    /// <param name="encoded">A name with the header of its string, which has no other bytes behind it.</param>
    /// <param name="key">A name without.</param>
    internal static bool AreEqual(byte[]? encoded, ReadOnlySpan<byte> key) =>
        encoded is not null && encoded.AsSpan(HeaderLength(encoded[0])).SequenceEqual(key);

    private static int HeaderLength(byte code) => code switch
    {
        MessagePackCode.Str8 => 2,
        MessagePackCode.Str16 => 3,
        MessagePackCode.Str32 => 5,
        _ => 1,
    };
}
