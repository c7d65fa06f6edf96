using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>A block of metadata.</summary>
internal sealed class MetadataTarget : FuzzTarget
{
    public static Metadata Sample => new() { { "key", "value" }, { "a-bin", [0, 255] }, { "key", "" } };

    public override IEnumerable<byte[]> Seeds =>
    [
        Encode([]), Encode(new Metadata { { "k", "v" } }), Encode(Sample), Encode(new Metadata { { "x-bin", [] } }),
    ];

    /// <exception cref="FuzzFindingException">The metadata differ, or the first can't be encoded.</exception>
    public static void RequireSame(Metadata one, Metadata other)
    {
        Require(MetadataCodec.Check(one) is null, "Decoded metadata can be encoded.");
        Require(one.Count == other.Count, "As many entries.");
        for (int i = 0; i < one.Count; i++)
        {
            Require(one[i].Key == other[i].Key, "The same key.");
            Require(one[i].ValueBytes.AsSpan().SequenceEqual(other[i].ValueBytes), "The same value.");
        }
    }

    protected override void Read(ReadOnlySpan<byte> input)
    {
        try
        {
            Metadata metadata = Decode(input);
            byte[] encoded = Encode(metadata);
            Require(input.SequenceEqual(encoded), "There is one encoding of each block.");
            RequireSame(metadata, Decode(encoded));
            Require(MetadataCodec.MeasureBytes(metadata) >= encoded.Length - 2, "A limit bounds its bytes.");
        }
        catch (ProtocolException)
        {
            // The documented refusal.
        }
    }

    private static Metadata Decode(ReadOnlySpan<byte> bytes)
    {
        var from = new WireReader(bytes);
        Metadata metadata = MetadataCodec.Decode(ref from)!;
        from.End("metadata");
        return metadata;
    }

    private static byte[] Encode(Metadata metadata)
    {
        using var to = new PooledBufferWriter();
        MetadataCodec.Encode(to, metadata);
        return to.WrittenSpan.ToArray();
    }
}
