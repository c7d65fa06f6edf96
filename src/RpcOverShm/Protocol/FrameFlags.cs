namespace RpcOverShm.Protocol;

/// <summary>Flags of a frame. The numbers are on the wire; bits without a name must be zero.</summary>
[Flags]
internal enum FrameFlags : byte
{
    None = 0,

    /// <summary>CallStart, End: what follows the head is a whole message, possibly of no bytes.</summary>
    HasMessage = 1,

    /// <summary>CallStart, Message, MessageChunk: no more messages follow.</summary>
    HalfClose = 2,

    /// <summary>CallStart, Headers, End, HeadChunk: the head goes on in a HeadChunk.</summary>
    HeadContinues = 4,

    /// <summary>
    /// Message: the only one of its direction that is not in the call's first or last frame. It costs no credit: what
    /// its receiver keeps of it is bounded by the largest message that it takes.
    /// </summary>
    Single = 8,
}
