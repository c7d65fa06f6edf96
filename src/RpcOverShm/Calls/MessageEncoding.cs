using System.Buffers;
using System.IO.Compression;
using Grpc.Core;
using RpcOverShm.Buffers;

namespace RpcOverShm.Calls;

/// <summary>
/// Compresses the messages of calls that name an encoding. In the direction that names one, each message begins with a
/// mark, one byte: 1 if the rest is compressed, 0 if not. Marshallers that wrap the call's own write and read the mark,
/// so other calls are not affected. Stateless.
/// </summary>
internal static class MessageEncoding
{
    /// <summary>The only encoding besides <see cref="Identity"/>.</summary>
    public const string Gzip = "gzip";

    /// <summary>The encoding that changes nothing; no call needs to name it.</summary>
    public const string Identity = "identity";

    /// <summary>All encodings, for error messages.</summary>
    public const string Supported = $"{Identity},{Gzip}";

    /// <summary>The key in response metadata that names the encoding of the responses.</summary>
    public const string ResponseKey = "grpc-encoding";

    /// <summary>The metadata key by which user code of either side requests an encoding; it is not sent.</summary>
    public const string RequestedKey = "grpc-internal-encoding-request";

    private const byte Plain = 0;
    private const byte Compressed = 1;

    // The mark, plus the growth of a message that a peer sends compressed although compression made it longer.
    private const int FixedOverheadBytes = 64;
    private const int BytesPerOverheadByte = 1024;

    /// <summary>Returns the mark of one of the encodings above; none for null.</summary>
    public static MessageMark MarkOf(string? encoding) => encoding switch
    {
        null => MessageMark.None,
        Gzip => MessageMark.Gzip,
        _ => MessageMark.Identity,
    };

    /// <summary>Returns the maximum length on the wire of a message with this limit; null for no limit.</summary>
    public static long? WireLimit(int? limitBytes, MessageMark mark) => mark == MessageMark.None
        ? limitBytes
        : (long?)limitBytes + FixedOverheadBytes + (limitBytes / BytesPerOverheadByte);

    /// <summary>Returns whether the options of a write allow its message to be compressed.</summary>
    public static bool MayCompress(WriteOptions? options) => ((options?.Flags ?? 0) & WriteFlags.NoCompress) == 0;

    /// <summary>
    /// Returns the encoding that metadata names, or null, and replaces the metadata with a copy without it.
    /// </summary>
    public static string? Take(string key, ref Metadata metadata)
    {
        if (metadata.GetValue(key) is not { } encoding)
        {
            return null;
        }

        metadata = [.. metadata.Where(entry => entry.Key != key)];
        return encoding;
    }

    /// <summary>
    /// Returns a marshaller that writes the mark and the message, compressed if that is allowed and makes it shorter.
    /// The limit is that of the uncompressed message.
    /// </summary>
    public static Marshaller<T> Writing<T>(
        Marshaller<T> inner, bool isCompressed, CompressionLevel level, int? limitBytes) => Marshallers.Create(
        (T message, SerializationContext context) =>
        {
            using FrameSerializationContext plain =
                FrameSerializationContext.Serialize(inner, message, limitBytes, parts: null);
            using var compressed = new PooledBufferWriter();

            // A message that would not become shorter goes uncompressed, so it exceeds its limit by the mark at most.
            bool isSmaller = isCompressed && GzipBytes.TryCompress(plain.Bytes, compressed, level);
            ReadOnlySpan<byte> bytes = isSmaller ? compressed.WrittenSpan : plain.Bytes.WrittenSpan;
            context.SetPayloadLength(bytes.Length + 1);
            IBufferWriter<byte> writer = context.GetBufferWriter();
            writer.Write([isSmaller ? Compressed : Plain]);
            writer.Write(bytes);
            context.Complete();
        },
        inner.ContextualDeserializer);

    /// <summary>
    /// Returns a marshaller that reads the mark and decompresses the message if necessary. The limit is that of the
    /// decompressed message, set by a side; <paramref name="note"/> receives whether a message was compressed.
    /// </summary>
    public static Marshaller<T> Reading<T>(
        Marshaller<T> inner, int? limitBytes, string side, bool mayBeCompressed = true, Action<bool>? note = null) =>
        Marshallers.Create(
            inner.ContextualSerializer,
            context =>
            {
                ReadOnlySequence<byte> payload = ((FrameDeserializationContext)context).PayloadToDecode();
                using PooledBufferWriter bytes = Decode(payload, limitBytes, side, mayBeCompressed);
                note?.Invoke(payload.FirstSpan[0] == Compressed);
                PayloadAccessHint hint = PayloadAccessHint.Of<T>();
                ReceivedMessage message = hint.IsInChunks
                    ? ReceivedMessage.InChunks(new ReadOnlySequence<byte>(bytes.WrittenMemory))
                    : ReceivedMessage.Of(bytes.WrittenSpan, hint);
                return FrameDeserializationContext.Deserialize(inner, ref message);
            });

    private static PooledBufferWriter Decode(
        in ReadOnlySequence<byte> payload, int? limitBytes, string side, bool mayBeCompressed)
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
                GzipBytes.Decompress(rest, bytes, limitBytes);
            }
            else
            {
                foreach (ReadOnlyMemory<byte> segment in rest)
                {
                    bytes.Write(segment.Span);
                }
            }

            if (bytes.Length <= limitBytes || limitBytes is null)
            {
                return bytes;
            }

            long length = flag == Compressed ? Math.Max(bytes.Length, GzipBytes.PromisedLength(rest)) : bytes.Length;
            throw new MessageEncodingException(StatusMapping.ReceivedTooLarge(length, limitBytes.Value, side));
        }
        catch
        {
            bytes.Dispose();
            throw;
        }
    }
}

/// <summary>The exception for a message that does not match its encoding, which is the peer's fault.</summary>
internal sealed class MessageEncodingException(Status status) : RpcException(status);
