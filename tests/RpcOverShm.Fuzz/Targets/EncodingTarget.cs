using System.Buffers;
using System.IO.Compression;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>A message with the mark of its encoding, compressed or not.</summary>
internal sealed class EncodingTarget : FuzzTarget
{
    private const int LimitBytes = 4096;

    // The limit, and the step in which the decompressor notices that it is exceeded.
    private const int MostBytes = LimitBytes + (16 << 10);

    private static readonly Marshaller<byte[]> s_encoded = MessageEncoding.Reading(
        Marshallers.Create<byte[]>(message => message, bytes => bytes), LimitBytes, "server");

    public override IEnumerable<byte[]> Seeds =>
    [
        [0], [0, 1, 2, 3], Compress(new byte[100]), Compress(new byte[LimitBytes + 1]),
        Compress(new byte[MostBytes * 2]),
    ];

    // The decompressor's own state, and the message up to its limit, in arrays that grow.
    protected override int BytesAtLeast => 128 << 10;

    protected override void Read(ReadOnlySpan<byte> input)
    {
        RequireBoundedSize(input);
        ReceivedMessage message = ReceivedMessage.Of(input, PayloadAccessHint.Of<byte[]>());
        try
        {
            byte[] decoded = FrameDeserializationContext.Deserialize(s_encoded, ref message);
            Require(decoded.Length <= LimitBytes, "The limit holds for the decompressed message.");
            Require(input[0] != 0 || decoded.AsSpan().SequenceEqual(input[1..]), "A plain message is unchanged.");
        }
        catch (MessageEncodingException)
        {
            // The documented refusal.
        }
    }

    // Pooled arrays are not allocated again, so the count of allocated bytes does not show them.
    private static void RequireBoundedSize(ReadOnlySpan<byte> input)
    {
        using var bytes = new PooledBufferWriter();
        try
        {
            byte[] compressed = input[Math.Min(1, input.Length)..].ToArray();
            GzipBytes.Decompress(new ReadOnlySequence<byte>(compressed), bytes, LimitBytes);
        }
        catch (MessageEncodingException)
        {
            // The documented refusal.
        }

        Require(bytes.Length <= MostBytes, "A small message does not expand to a huge one.");
    }

    private static byte[] Compress(byte[] message)
    {
        using var result = new MemoryStream();
        result.WriteByte(1);
        using (var gzip = new GZipStream(result, CompressionLevel.Fastest, leaveOpen: true))
        {
            gzip.Write(message);
        }

        return result.ToArray();
    }
}
