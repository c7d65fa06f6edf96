using System.Buffers;
using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;

namespace RpcOverShm.Protocol;

/// <summary>
/// Encodes and decodes metadata blocks. Entries keep their order, and duplicates stay separate. Keys consist of
/// lower-case ASCII letters, digits and <c>._-</c>. Values are printable ASCII, or any bytes if the key ends in -bin.
/// <code>
/// u16 number of entries, then for each: u16 key length, key, u32 value length, value
/// </code>
/// </summary>
internal static class MetadataCodec
{
    // HTTP/2, and so gRPC, measures a header list like this (RFC 9113, 6.5.2): key, value and 32 bytes for each entry.
    private const int OverheadPerEntry = 32;

    // The entry, its place in the list, and the headers of its key and value.
    private const int ObjectBytesPerEntry = 104;

    // Both lengths.
    private const int SmallestEntryBytes = sizeof(ushort) + sizeof(uint);

    /// <summary>
    /// Bytes that a block may have beyond a limit and is read nevertheless: the library's own entry, which no limit
    /// counts.
    /// </summary>
    public const int LibraryBytes = 128;

    private const int MaxKeyBytes = ushort.MaxValue;

    private static readonly SearchValues<byte> s_keyBytes =
        SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789._-"u8);
    private static readonly SearchValues<char> s_valueChars =
        SearchValues.Create([.. Enumerable.Range(0x20, 0x7F - 0x20).Select(c => (char)c)]);

    /// <summary>Returns the size of metadata for limits: the bytes of key and value, plus 32, for each entry.</summary>
    public static long MeasureBytes(Metadata metadata)
    {
        long size = 0;
        foreach (Metadata.Entry entry in metadata)
        {
            size += MeasureBytes(entry);
        }

        return size;
    }

    /// <summary>Returns the size of one entry for limits.</summary>
    public static long MeasureBytes(Metadata.Entry entry)
    {
        int value = entry.IsBinary ? entry.ValueBytes.Length : entry.Value.Length;
        return entry.Key.Length + value + OverheadPerEntry;
    }

    /// <summary>Returns the memory that received metadata takes, at most.</summary>
    public static long MeasureKeptBytes(Metadata metadata)
    {
        // A character takes two bytes.
        long characters = MeasureBytes(metadata) - ((long)OverheadPerEntry * metadata.Count);
        return (2 * characters) + ((long)ObjectBytesPerEntry * metadata.Count);
    }

    /// <summary>Returns null if <see cref="Encode"/> can encode the metadata, otherwise the reason.</summary>
    public static string? Check(Metadata metadata)
    {
        if (metadata.Count > ushort.MaxValue)
        {
            return $"Metadata has {metadata.Count} entries; at most {ushort.MaxValue} are allowed.";
        }

        foreach (Metadata.Entry entry in metadata)
        {
            if (!entry.IsBinary && entry.Value.AsSpan().ContainsAnyExcept(s_valueChars))
            {
                return $"The value of metadata '{entry.Key}' has characters other than printable ASCII; "
                    + "use a key that ends in -bin for anything else.";
            }

            if (entry.Key.Length is 0 or > MaxKeyBytes)
            {
                return $"A metadata key has {entry.Key.Length} characters; 1 to {MaxKeyBytes} are allowed.";
            }
        }

        return null;
    }

    /// <summary>Appends a metadata block. The metadata must have passed <see cref="Check"/>.</summary>
    public static void Encode(PooledBufferWriter to, Metadata metadata)
    {
        to.WriteUInt16((ushort)metadata.Count);
        foreach (Metadata.Entry entry in metadata)
        {
            to.WriteShortText(entry.Key);
            if (entry.IsBinary)
            {
                byte[] value = entry.ValueBytes;
                to.WriteUInt32((uint)value.Length);
                to.Write(value);
            }
            else
            {
                to.WriteLongText(entry.Value);
            }
        }
    }

    /// <summary>
    /// Reads a metadata block of the peer. Returns null if it exceeds the limit by more than
    /// <see cref="LibraryBytes"/>: it is then read no further, and the reader is at its end. Up to there, the caller
    /// measures. An entry takes ten times as many bytes in memory as its peer has written, and time in proportion.
    /// </summary>
    /// <exception cref="ProtocolException">The block is malformed.</exception>
    public static Metadata? Decode(ref WireReader from, long limitBytes = long.MaxValue)
    {
        int count = from.ReadUInt16();

        // A count that the bytes cannot have is no large head, but a wrong one, as the end of the bytes then shows.
        long least = (long)count * OverheadPerEntry;
        if (least - LibraryBytes > limitBytes && count * SmallestEntryBytes <= from.Remaining)
        {
            return Leave(ref from);
        }

        long size = 0;

        var metadata = new Metadata();
        for (int i = 0; i < count; i++)
        {
            ReadOnlySpan<byte> key = from.ReadBytes(from.ReadUInt16());
            ReadOnlySpan<byte> value = from.ReadBytes(from.ReadUInt32());
            size += OverheadPerEntry + key.Length + value.Length;
            if (size - LibraryBytes > limitBytes)
            {
                return Leave(ref from);
            }

            if (key.IsEmpty || key.ContainsAnyExcept(s_keyBytes))
            {
                throw new ProtocolException("A metadata key has characters that no key may have.");
            }

            string name = Encoding.ASCII.GetString(key);
            if (name.EndsWith(Metadata.BinaryHeaderSuffix, StringComparison.Ordinal))
            {
                metadata.Add(name, value.ToArray());
            }
            else if (value.IndexOfAnyExceptInRange((byte)0x20, (byte)0x7E) < 0)
            {
                metadata.Add(name, Encoding.ASCII.GetString(value));
            }
            else
            {
                throw new ProtocolException($"The value of metadata '{name}' is not printable ASCII.");
            }
        }

        return metadata;
    }

    private static Metadata? Leave(ref WireReader from)
    {
        from = default;
        return null;
    }
}
