using System.Text;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>A message of the handshake, read as the handshake does: its length first, then the whole.</summary>
internal sealed class HelloTarget : FuzzTarget
{
    private static readonly PeerLimits s_limits = new(64 << 10, 64 << 10, 100, 64 << 10);

    public override IEnumerable<byte[]> Seeds =>
    [
        new Hello
        {
            Type = HelloType.Client,
            Purpose = ConnectionPurpose.Calls,
            ConnectionId = new Guid("00112233-4455-6677-8899-aabbccddeeff"),
            Limits = s_limits,
        }.Encode(),
        new Hello { Type = HelloType.Server, Purpose = ConnectionPurpose.ByteStream, Limits = s_limits }.Encode(),
        new Hello { Type = HelloType.Client, LowestVersion = 700, HighestVersion = 701 }.Encode(),
        new Hello
        {
            Type = HelloType.Refusal,
            RefusalReason = RefusalReason.Violation,
            RefusalText = "why",
        }.Encode(),
    ];

    protected override void Read(ReadOnlySpan<byte> input)
    {
        try
        {
            if (Hello.PeekLength(input) is not { } length || length > input.Length)
            {
                return;
            }

            Require(length is >= Hello.CommonSizeBytes and <= Hello.MaxSizeBytes, "The length is within its limits.");
            bool isForeign = Hello.IsForeign(input);
            Hello hello = Hello.Decode(input[..length]);
            if (hello.Type != HelloType.Refusal && !isForeign)
            {
                _ = Handshake.Check(hello);
            }

            // Each invalid byte of a text becomes three, so the text may be cut.
            if (Encoding.UTF8.GetByteCount(hello.RefusalText) <= Hello.MaxSizeBytes - Hello.CommonSizeBytes)
            {
                byte[] again = hello.Encode();
                Require(Hello.PeekLength(again) == again.Length, "The encoded message has its length.");
                Require(Hello.IsForeign(again) == isForeign, "The versions are the same.");
                Require(Hello.Decode(again) == hello, "Decoded again, it is the same hello.");
            }
        }
        catch (ProtocolException)
        {
            // The documented refusal.
        }
    }
}
