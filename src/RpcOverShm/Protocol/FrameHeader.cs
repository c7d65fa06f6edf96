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
