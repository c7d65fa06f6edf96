using System.Buffers;
using System.Buffers.Binary;
using System.IO.Compression;
using RpcOverShm.Buffers;

namespace RpcOverShm.Calls;

/// <summary>Compresses and decompresses a message as a single gzip member (RFC 1952).</summary>
internal static class GzipBytes
{
    // A header of ten bytes, and a trailer with the checksum and the length.
    private const int FrameBytes = 18;
    private const int LengthBytes = 4;

    /// <summary>Compresses a message. Returns false, without a result, if it would not become shorter.</summary>
    public static bool TryCompress(PooledBufferWriter from, PooledBufferWriter to, CompressionLevel level)
    {
        using var result = new MemoryStream();
        using (var gzip = new GZipStream(result, level, leaveOpen: true))
        {
            gzip.Write(from.WrittenSpan);
        }

        if (result.Length >= from.Length)
        {
            return false;
        }

        to.Write(result.GetBuffer().AsSpan(0, (int)result.Length));
        return true;
    }

    /// <summary>Decompresses a message. Stops just after the limit: a small message may expand to a huge one.</summary>
    /// <exception cref="MessageEncodingException">The bytes are not exactly one complete gzip member.</exception>
    public static void Decompress(in ReadOnlySequence<byte> from, PooledBufferWriter to, int? limitBytes)
    {
        const int Step = 16 << 10;
        byte[] bytes = from.ToArray();
        using var source = new MemoryStream(bytes);
        using var gzip = new GZipStream(source, CompressionMode.Decompress);
        try
        {
            int read;
            do
            {
                read = gzip.Read(to.GetSpan(Step)[..Step]);
                to.Advance(read);
            }
            while (read > 0 && !(to.Length > limitBytes));
        }
        catch (InvalidDataException exception)
        {
            throw Unreadable(exception.Message);
        }

        // GZipStream reports the end of the gzip data and a premature end of the input alike.
        if (!(to.Length > limitBytes) && !IsWhole(bytes, to.Length))
        {
            throw Unreadable("It is cut short, or something follows it.");
        }
    }

    /// <summary>Returns the decompressed length from the trailer, or 0 if the message is too short for one.</summary>
    public static long PromisedLength(in ReadOnlySequence<byte> from) => from.Length > FrameBytes
        ? BinaryPrimitives.ReadUInt32LittleEndian(from.Slice(from.Length - LengthBytes).ToArray())
        : 0;

    private static bool IsWhole(ReadOnlySpan<byte> bytes, int length) =>
        bytes.Length > FrameBytes
        && BinaryPrimitives.ReadUInt32LittleEndian(bytes[^LengthBytes..]) == (uint)length;

    private static MessageEncodingException Unreadable(string why) =>
        new(StatusMapping.BadEncoding($"A message can't be decompressed: {why}"));
}
