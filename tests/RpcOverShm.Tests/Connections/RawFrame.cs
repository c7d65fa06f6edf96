using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Connections;

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

    /// <summary>What it costs of a call's credit.</summary>
    public uint Cost => (uint)Body.Length + 16;

    public override string ToString() =>
        $"{Kind} {Call} {Flags} head {Head.Length} body {Body.Length} argument {Argument}";
}
