namespace RpcOverShm.Protocol;

/// <summary>
/// The table of valid flags and fields for each frame kind. The call itself checks whether a kind is valid in its
/// state.
/// </summary>
internal readonly record struct FrameRule(
    bool IsKnown, FrameFlags Flags, bool HasHead, bool HasPayload, bool HasArgument, bool IsForConnection)
{
    private static readonly FrameRule[] s_rules = MakeTable();

    public static FrameRule Of(FrameKind kind) => (int)kind < s_rules.Length ? s_rules[(int)kind] : default;

    private static FrameRule[] MakeTable()
    {
        const FrameFlags Start =
            FrameFlags.HasMessage | FrameFlags.HalfClose | FrameFlags.HeadContinues | FrameFlags.OneWay;
        const FrameFlags End = FrameFlags.HasMessage | FrameFlags.HeadContinues;
        const FrameFlags More = FrameFlags.HeadContinues;
        const FrameFlags Last = FrameFlags.HalfClose;
        const FrameFlags First = FrameFlags.HalfClose | FrameFlags.Single | FrameFlags.Loaned;
        var rules = new FrameRule[(int)FrameKind.Handles + 1];

        Set(FrameKind.CallStart, Start, head: true, payload: true, argument: false, connection: false);
        Set(FrameKind.HeadChunk, More, head: true, payload: true, argument: false, connection: false);
        Set(FrameKind.Message, First, head: false, payload: true, argument: true, connection: false);
        Set(FrameKind.MessageChunk, Last, head: false, payload: true, argument: false, connection: false);
        Set(FrameKind.HalfClose, 0, head: false, payload: false, argument: false, connection: false);
        Set(FrameKind.Headers, More, head: true, payload: true, argument: false, connection: false);
        Set(FrameKind.End, End, head: true, payload: true, argument: false, connection: false);
        Set(FrameKind.Credit, 0, head: false, payload: false, argument: true, connection: false);
        Set(FrameKind.Cancel, 0, head: false, payload: false, argument: false, connection: false);
        Set(FrameKind.GoAway, 0, head: false, payload: false, argument: false, connection: true);
        Set(FrameKind.Bytes, 0, head: false, payload: true, argument: false, connection: true);
        Set(FrameKind.BytesEnd, 0, head: false, payload: false, argument: false, connection: true);
        Set(FrameKind.FileMapped, 0, head: false, payload: false, argument: true, connection: true);
        Set(FrameKind.FileRefused, 0, head: false, payload: false, argument: true, connection: true);
        Set(FrameKind.Returned, 0, head: false, payload: true, argument: false, connection: true);
        Set(FrameKind.ReturnsWanted, 0, head: false, payload: false, argument: false, connection: true);
        Set(FrameKind.TopicStart, 0, head: false, payload: true, argument: false, connection: false);
        Set(FrameKind.TopicEnd, 0, head: false, payload: true, argument: false, connection: false);
        Set(FrameKind.TopicRead, 0, head: false, payload: true, argument: false, connection: false);
        Set(FrameKind.TopicDropped, 0, head: false, payload: false, argument: true, connection: true);
        Set(FrameKind.Handles, 0, head: false, payload: true, argument: false, connection: false);
        return rules;

        void Set(FrameKind kind, FrameFlags flags, bool head, bool payload, bool argument, bool connection) =>
            rules[(int)kind] = new FrameRule(true, flags, head, payload, argument, connection);
    }
}
