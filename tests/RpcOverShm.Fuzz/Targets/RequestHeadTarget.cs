using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>The head of a request.</summary>
internal sealed class RequestHeadTarget : FuzzTarget
{
    public override IEnumerable<byte[]> Seeds =>
    [
        Encode(new RequestHead { Method = "/a/b"u8 }),
        Encode(new RequestHead { Method = "/a/b"u8, Timeout = TimeSpan.FromSeconds(1) }),
        Encode(new RequestHead { Method = "/a/b"u8, Codec = "msgpack", Host = "d.e", Encoding = "gzip" }),
        Encode(new RequestHead
        {
            Method = "/a/b"u8,
            Timeout = TimeSpan.FromTicks(1),
            Codec = "c",
            Host = "h",
            Encoding = "e",
            Metadata = MetadataTarget.Sample,
        }),
    ];

    protected override void Read(ReadOnlySpan<byte> input)
    {
        try
        {
            RequestHead head = RequestHead.Decode(input);
            if (head.Timeout is { } timeout)
            {
                // It must not overflow when it is added to a clock.
                Require(timeout > TimeSpan.Zero && timeout < TimeSpan.MaxValue / 2, "The timeout is in range.");
            }

            RequestHead again = RequestHead.Decode(Encode(head));
            Require(again.Method.SequenceEqual(head.Method), "The same method.");
            Require(
                (again.Timeout, again.Codec, again.Host, again.Encoding)
                    == (head.Timeout, head.Codec, head.Host, head.Encoding),
                "The same timeout and names.");
            Require(head.Metadata is null == again.Metadata is null, "Metadata or none.");
            MetadataTarget.RequireSame(head.Metadata ?? [], again.Metadata ?? []);
        }
        catch (ProtocolException)
        {
            // The documented refusal.
        }
    }

    private static byte[] Encode(in RequestHead head)
    {
        using var to = new PooledBufferWriter();
        head.Encode(to);
        return to.WrittenSpan.ToArray();
    }
}
