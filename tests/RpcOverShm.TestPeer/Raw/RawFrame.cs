using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.TestPeer.Raw;

/// <summary>One frame with its bytes, legal or not.</summary>
internal sealed record RawFrame(
    FrameKind Kind,
    CallId Call = default,
    FrameFlags Flags = FrameFlags.None,
    byte[]? Head = null,
    byte[]? Body = null,
    uint Argument = 0)
{
    public byte[] Head { get; init; } = Head ?? [];

    public byte[] Body { get; init; } = Body ?? [];

    /// <summary>The length of the head that the header states, if that is a lie.</summary>
    public int? StatedHeadLength { get; init; }

    public int Length => Head.Length + Body.Length;

    /// <summary>The credit of the call that the frame uses.</summary>
    public uint Cost => (uint)Body.Length + 16;

    /// <summary>Copies a record that was read.</summary>
    public static RawFrame Of(RecordHeader header, ReadOnlySpan<byte> payload) => new(
        (FrameKind)header.Kind,
        new CallId(header.StreamId),
        (FrameFlags)header.Flags,
        payload[..header.HeadLength].ToArray(),
        payload[header.HeadLength..].ToArray(),
        header.Argument);

    /// <summary>Writes the frame as one record without publishing it; returns false if there is no space.</summary>
    public bool TryWrite(RingWriter writer)
    {
        if (!writer.TryClaim(Length, isControl: true, out RingClaim claim))
        {
            return false;
        }

        Head.CopyTo(claim.Payload);
        Body.CopyTo(claim.Payload[Head.Length..]);
        writer.Commit(claim, new RecordHeader(
            (uint)Length,
            (byte)Kind,
            (byte)Flags,
            (ushort)(StatedHeadLength ?? Head.Length),
            Call.Value,
            Argument));
        return true;
    }

    public override string ToString() =>
        $"{Kind} {Call} {Flags} head {Head.Length} body {Body.Length} argument {Argument}";
}
