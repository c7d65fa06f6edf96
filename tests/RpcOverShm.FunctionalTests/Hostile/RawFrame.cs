using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>One frame that a victim has sent.</summary>
internal sealed record RawFrame(
    FrameKind Kind, FrameFlags Flags, CallId Call, uint Argument, byte[] Head, byte[] Body);
