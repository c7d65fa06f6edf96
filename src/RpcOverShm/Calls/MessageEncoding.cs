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
    public const string RequestedKey = "grpc-internal-encoding-request";

    private const byte Plain = 0;
    private const byte Compressed = 1;

    // Its mark; and what a peer may add that sends compressed what did not become smaller.
    private const int FixedOverheadBytes = 64;
    private const int BytesPerOverheadByte = 1024;

    /// <summary>The most bytes that come for a message that may have so many; null for any.</summary>
    public static long? WireLimit(int? limitBytes, bool isEncoded) => isEncoded
        ? (long?)limitBytes + FixedOverheadBytes + (limitBytes / BytesPerOverheadByte)
        : limitBytes;

    /// <summary>Whether the options of a write allow its message to be compressed.</summary>
    public static bool MayCompress(WriteOptions? options) => ((options?.Flags ?? 0) & WriteFlags.NoCompress) == 0;

    /// <summary>
    /// Takes the name of an encoding out of metadata, which stay as they are for everybody else: null for none.
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

            // What does not become smaller goes as it is: so a message never exceeds its limit by more than its mark.
            bool isSmaller = isCompressed && GzipBytes.TryCompress(plain.Bytes, compressed, level);
            ReadOnlySpan<byte> bytes = isSmaller ? compressed.WrittenSpan : plain.Bytes.WrittenSpan;
            context.SetPayloadLength(bytes.Length + 1);
            IBufferWriter<byte> writer = context.GetBufferWriter();
            writer.Write([isSmaller ? Compressed : Plain]);
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
                ReadOnlySequence<byte> payload = ((FrameDeserializationContext)context).PayloadToDecode();
                using PooledBufferWriter bytes = Decode(payload, limitBytes, mayBeCompressed);
                note?.Invoke(payload.FirstSpan[0] == Compressed);
                PayloadAccessHint hint = PayloadAccessHint.Of<T>();
                ReceivedMessage message = hint.IsInChunks
                    ? ReceivedMessage.InChunks(new ReadOnlySequence<byte>(bytes.WrittenMemory))
                    : ReceivedMessage.Of(bytes.WrittenSpan, hint);
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
            throw new MessageEncodingException(StatusMapping.ReceivedTooLarge(length, limitBytes.Value));
        }
        catch
        {
            bytes.Dispose();
            throw;
        }
    }
}

/// <summary>A message that is not what its encoding says: the peer's doing, whoever reads it.</summary>
internal sealed class MessageEncodingException(Status status) : RpcException(status);
