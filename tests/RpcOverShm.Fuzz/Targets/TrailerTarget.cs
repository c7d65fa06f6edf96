using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>The trailer of a response.</summary>
internal sealed class TrailerTarget : FuzzTarget
{
    public override IEnumerable<byte[]> Seeds =>
    [
        [],
        Encode(new StatusTrailer(new Status(StatusCode.Aborted, "why"))),
        Encode(new StatusTrailer(new Status(StatusCode.OK, ""), MetadataTarget.Sample)),
        Encode(new StatusTrailer(new Status(StatusCode.Unavailable, "é€😀"), MetadataTarget.Sample, true)),
    ];

    protected override void Read(ReadOnlySpan<byte> input)
    {
        try
        {
            StatusTrailer trailer = StatusTrailer.Decode(input);
            StatusTrailer again = StatusTrailer.Decode(Encode(trailer));
            Require(again.Status.Equals(trailer.Status), "The same status.");
            Require(again.IsNotProcessed == trailer.IsNotProcessed, "Processed or not.");
            MetadataTarget.RequireSame(trailer.Metadata ?? [], again.Metadata ?? []);
        }
        catch (ProtocolException)
        {
            // The documented refusal.
        }
    }

    private static byte[] Encode(in StatusTrailer trailer)
    {
        using var to = new PooledBufferWriter();
        trailer.Encode(to);
        return to.WrittenSpan.ToArray();
    }
}
