using System.Buffers;
using System.IO.Compression;
using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// Compression of messages, for calls that have named an encoding. Each message of such a call, in that direction,
/// begins with a byte: 1 where what follows is compressed, 0 where it is as it is. Written and read by marshallers
/// around the call's own, so that other calls know nothing of it. Holds nothing of a call.
/// </summary>
internal static class MessageEncoding
{
    /// <summary>The one encoding besides <see cref="Identity"/>.</summary>
    public const string Gzip = "gzip";

    /// <summary>The encoding that changes nothing: no call needs to name it.</summary>
    public const string Identity = "identity";

    /// <summary>All of them, for people.</summary>
    public const string Supported = $"{Identity},{Gzip}";

    /// <summary>In the response's metadata: its encoding.</summary>
    public const string ResponseKey = "grpc-encoding";

    /// <summary>In metadata of either side, for the library only: the encoding that is wanted.</summary>
    public const string WantedKey = "grpc-internal-encoding-request";

    private const byte Plain = 0;
    private const byte Compressed = 1;

    // Gzip makes what it cannot compress longer by some bytes, and by 5 for each 16 KiB or more.
    private const int FixedOverheadBytes = 64;
    private const int BytesPerOverheadByte = 1024;

    /// <summary>The most bytes that come for a message that may have so many; null for any.</summary>
    public static long? WireLimit(int? limitBytes, bool isEncoded) => isEncoded
        ? (long?)limitBytes + FixedOverheadBytes + (limitBytes / BytesPerOverheadByte)
        : limitBytes;

    /// <summary>Whether the options of a write allow its message to be compressed.</summary>
    public static bool MayCompress(WriteOptions? options) => ((options?.Flags ?? 0) & WriteFlags.NoCompress) == 0;

    /// <summary>Takes the wish for an encoding out of metadata: null for none.</summary>
    public static string? TakeWanted(ref Metadata metadata)
    {
        if (metadata.GetValue(WantedKey) is not { } wanted)
        {
            return null;
        }

        metadata = [.. metadata.Where(entry => entry.Key != WantedKey)];
        return wanted;
    }

    /// <summary>A marshaller that writes messages as calls with an encoding have them.</summary>
    /// <param name="inner">Writes the message.</param>
    /// <param name="isCompressed">Whether this one is to be compressed.</param>
    /// <param name="level">How thoroughly.</param>
    /// <param name="limitBytes">The most bytes of the message before that; null for any.</param>
    public static Marshaller<T> Writing<T>(
        Marshaller<T> inner, bool isCompressed, CompressionLevel level, int? limitBytes) => Marshallers.Create(
        (T message, SerializationContext context) =>
        {
            using FrameSerializationContext plain =
                FrameSerializationContext.Serialize(inner, message, limitBytes, parts: null);
            using var compressed = new PooledBufferWriter();
            if (isCompressed)
            {
                Compress(plain.Bytes, compressed, level);
            }

            ReadOnlySpan<byte> bytes = isCompressed ? compressed.WrittenSpan : plain.Bytes.WrittenSpan;
            context.SetPayloadLength(bytes.Length + 1);
            IBufferWriter<byte> writer = context.GetBufferWriter();
            writer.Write([isCompressed ? Compressed : Plain]);
            writer.Write(bytes);
            context.Complete();
        },
        inner.ContextualDeserializer);

    /// <summary>A marshaller that reads messages as calls with an encoding have them.</summary>
    /// <param name="inner">Reads the message.</param>
    /// <param name="limitBytes">The most bytes of the message, decompressed; null for any.</param>
    /// <param name="mayBeCompressed">Whether the encoding is more than identity.</param>
    /// <param name="note">Hears whether a message was compressed; null for nobody.</param>
    public static Marshaller<T> Reading<T>(
        Marshaller<T> inner, int? limitBytes, bool mayBeCompressed = true, Action<bool>? note = null) =>
        Marshallers.Create(
            inner.ContextualSerializer,
            context =>
            {
                ReadOnlySequence<byte> payload = context.PayloadAsReadOnlySequence();
                using PooledBufferWriter bytes = Decode(payload, limitBytes, mayBeCompressed);
                note?.Invoke(payload.FirstSpan[0] == Compressed);
                var message = new MessageBytes(bytes.WrittenSpan);
                return FrameDeserializationContext.Deserialize(inner, ref message);
            });

    private static PooledBufferWriter Decode(
        in ReadOnlySequence<byte> payload, int? limitBytes, bool mayBeCompressed)
    {
        byte flag = payload.IsEmpty ? byte.MaxValue : payload.FirstSpan[0];
        if (flag > (mayBeCompressed ? Compressed : Plain))
        {
            throw new MessageEncodingException(StatusMapping.BadEncoding(
                "A message has no mark of its encoding, or one that the encoding does not have."));
        }

        ReadOnlySequence<byte> rest = payload.Slice(1);
        var bytes = new PooledBufferWriter();
        try
        {
            if (flag == Compressed)
            {
                Decompress(rest, bytes, limitBytes);
            }
            else
            {
                foreach (ReadOnlyMemory<byte> segment in rest)
                {
                    bytes.Write(segment.Span);
                }
            }

            return bytes.Length > limitBytes
                ? throw new MessageEncodingException(StatusMapping.ReceivedTooLarge)
                : bytes;
        }
        catch
        {
            bytes.Dispose();
            throw;
        }
    }

    private static void Compress(PooledBufferWriter from, PooledBufferWriter to, CompressionLevel level)
    {
        using var result = new MemoryStream();
        using (var gzip = new GZipStream(result, level, leaveOpen: true))
        {
            gzip.Write(from.WrittenSpan);
        }

        to.Write(result.GetBuffer().AsSpan(0, (int)result.Length));
    }

    // Stops behind the limit: a small message may stand for a large one.
    private static void Decompress(in ReadOnlySequence<byte> from, PooledBufferWriter to, int? limitBytes)
    {
        const int Step = 16 << 10;
        using var source = new MemoryStream(from.ToArray());
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
            throw new MessageEncodingException(
                StatusMapping.BadEncoding($"A message can't be decompressed: {exception.Message}"));
        }
    }
}
