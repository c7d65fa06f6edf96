using System.Buffers;
using System.Buffers.Binary;
using System.IO.Compression;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>One message as one member of gzip (RFC 1952), and back.</summary>
internal static class GzipBytes
{
    // Ten bytes of head; behind the data its check value and its length.
    private const int FrameBytes = 18;
    private const int LengthBytes = 4;

    /// <summary>False when the result is not shorter; it is then of no use.</summary>
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

    /// <summary>Stops behind the limit: a small message may stand for a large one.</summary>
    /// <exception cref="MessageEncodingException">It is not gzip, or not whole.</exception>
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
                read = gzip.Read(to.GetSpan(Step));
                to.Advance(read);
            }
            while (read > 0 && !(to.Length > limitBytes));
        }
        catch (InvalidDataException exception)
        {
            throw Unreadable(exception.Message);
        }

        // The stream does not say whether it has come to the end of its data or merely to the end of the bytes.
        if (!(to.Length > limitBytes) && !IsWhole(bytes, to.Length))
        {
            throw Unreadable("It is cut short, or something follows it.");
        }
    }

    /// <summary>The length, decompressed, that the last bytes tell; 0 where there are too few.</summary>
    public static long PromisedLength(in ReadOnlySequence<byte> from) => from.Length > FrameBytes
        ? BinaryPrimitives.ReadUInt32LittleEndian(from.Slice(from.Length - LengthBytes).ToArray())
        : 0;

    private static bool IsWhole(ReadOnlySpan<byte> bytes, int length) =>
        bytes.Length > FrameBytes
        && BinaryPrimitives.ReadUInt32LittleEndian(bytes[^LengthBytes..]) == (uint)length;

    private static MessageEncodingException Unreadable(string why) =>
        new(StatusMapping.BadEncoding($"A message can't be decompressed: {why}"));
}
