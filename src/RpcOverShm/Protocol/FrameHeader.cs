namespace RpcOverShm.Protocol;

/// <summary>
/// The header of a frame: the fields of the ring's record header with their meaning in the protocol. It is a private
/// copy, not memory of the ring.
/// </summary>
internal readonly record struct FrameHeader(
    FrameKind Kind, FrameFlags Flags, int HeadLength, CallId Call, uint Argument, int PayloadLength)
{
    /// <summary>Returns null if the frame is valid in some state of its call, otherwise the violation.</summary>
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

        // A request of a one-way call is one message, which comes with the start or follows it with the half-close.
        if ((Flags & FrameFlags.OneWay) != 0
            && ((Flags & FrameFlags.HasMessage) != 0) != ((Flags & FrameFlags.HalfClose) != 0))
        {
            return $"flags 0x{(byte)Flags:X} on a one-way {Kind}";
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

    // The bytes of a message that the frame itself has, behind a reference if it has one.
    private int InlineLength =>
        (Flags & FrameFlags.Loaned) == 0 ? PayloadLength : PayloadLength - LoanReference.SizeBytes;

    private string? CheckLengths(FrameRule rule)
    {
        bool isAllHead = rule.HasHead && (Flags & FrameFlags.HasMessage) == 0;
        bool isWrong = (HeadLength != 0 && !rule.HasHead)
            || HeadLength > PayloadLength
            || (isAllHead && HeadLength != PayloadLength)
            || (PayloadLength != 0 && !rule.HasPayload)
            || (Kind == FrameKind.Message && InlineLength > Argument)
            || ((Flags & FrameFlags.Loaned) != 0 && InlineLength < 0);
        return isWrong ? $"a head of {HeadLength} and a payload of {PayloadLength} bytes on a {Kind}" : null;
    }
}

/// <summary>The flags of a frame, with their values on the wire. Other bits must be zero.</summary>
[Flags]
internal enum FrameFlags : byte
{
    None = 0,

    /// <summary>CallStart, End: a whole message, possibly empty, follows the head.</summary>
    HasMessage = 1,

    /// <summary>CallStart, Message, MessageChunk: half-close; no more messages follow.</summary>
    HalfClose = 2,

    /// <summary>CallStart, Headers, End, HeadChunk: the head continues in a HeadChunk.</summary>
    HeadContinues = 4,

    /// <summary>
    /// Message: the only message of its direction, but in a frame of its own, not in CallStart or End. It costs no
    /// credit: the receiver's limit on the message size bounds the memory that the receiver keeps.
    /// </summary>
    Single = 8,

    /// <summary>
    /// CallStart: a one-way call. The side that serves it sends nothing for it but an End, without a message.
    /// </summary>
    OneWay = 16,

    /// <summary>
    /// Message: the payload is a <see cref="LoanReference"/> and the first bytes of the message; the others lie in a
    /// data file of the sender.
    /// </summary>
    Loaned = 32,
}
