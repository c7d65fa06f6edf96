namespace RpcOverShm.Protocol;

/// <summary>
/// The header of a frame as the protocol sees it: the fields of the ring's record header with their meaning. Private
/// memory; it was copied out of the ring before it came here.
/// </summary>
internal readonly record struct FrameHeader(
    FrameKind Kind, FrameFlags Flags, int HeadLength, CallId Call, uint Argument, int PayloadLength)
{
    /// <summary>
    /// Null when the frame is possible at all, whatever the state of its call; else what is wrong with it.
    /// </summary>
    public string? Check()
    {
        FrameRule rule = FrameRule.Of(Kind);
        if (!rule.IsKnown)
        {
            return $"an unknown kind {(byte)Kind}";
        }

        if ((Flags & ~rule.Flags) != 0
            || (Flags & (FrameFlags.HeadContinues | FrameFlags.HasMessage))
                == (FrameFlags.HeadContinues | FrameFlags.HasMessage))
        {
            return $"flags 0x{(byte)Flags:X} on a {Kind}";
        }

        if (Call.IsNone != rule.IsForConnection)
        {
            return $"a {Kind} for call {Call.Value}";
        }

        if (Argument != 0 && !rule.HasArgument)
        {
            return $"an argument of {Argument} on a {Kind}";
        }

        return CheckLengths(rule);
    }

    private string? CheckLengths(FrameRule rule)
    {
        bool isAllHead = rule.HasHead && (Flags & FrameFlags.HasMessage) == 0;
        bool isWrong = (HeadLength != 0 && !rule.HasHead)
            || HeadLength > PayloadLength
            || (isAllHead && HeadLength != PayloadLength)
            || (PayloadLength != 0 && !rule.HasPayload)
            || (Kind == FrameKind.Message && PayloadLength > Argument);
        return isWrong ? $"a head of {HeadLength} and a payload of {PayloadLength} bytes on a {Kind}" : null;
    }
}

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
