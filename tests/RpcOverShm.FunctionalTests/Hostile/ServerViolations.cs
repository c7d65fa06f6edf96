using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Frames that a server must never send, or not at that point; one call waits for its response.</summary>
internal static class ServerViolations
{
    private static readonly byte[] s_bytes = new byte[100];

    public static IEnumerable<Violation> All =>
    [
        new(
            "end of zeros",
            peer => peer.Send(FrameKind.End, First, 0, head: s_bytes),
            "bytes too many in a status trailer"),
        new("end of ones", peer => peer.Send(
            FrameKind.End, First, 0, head: Enumerable.Repeat((byte)0xFF, 100).ToArray()), "Unknown flags 0xFF"),
        new(
            "end of one byte",
            peer => peer.Send(FrameKind.End, First, 0, head: [0]),
            "A field of 1 bytes where 0 are left"),
        new("end with a detail that is not there", peer => peer.Send(
            FrameKind.End, First, 0, head: [2, 1, 0xFF, 0xFF, 0xFF, 0x7F]), "A field of 2147483647 bytes"),
        new("end twice", peer =>
        {
            peer.Send(FrameKind.End, First, FrameFlags.HasMessage, body: Message("one"));
            peer.Send(FrameKind.End, First);
        }, "which is not open"),
        new(
            "end of a call that was never started",
            peer => peer.Send(FrameKind.End, new CallId(9, 1, false)),
            "which is not open"),
        new(
            "end of a call of another generation",
            peer => peer.Send(FrameKind.End, new CallId(0, 2, false)),
            "which is not open"),
        new(
            "headers of zeros",
            peer => peer.Send(FrameKind.Headers, First, 0, head: s_bytes),
            "bytes too many in response metadata"),
        new("headers of one byte", peer => peer.Send(FrameKind.Headers, First, 0, head: [9]), "A field of 2 bytes"),
        new(
            "credit for the connection",
            peer => peer.Send(FrameKind.Credit, argument: 1),
            "a Credit for call 0"),
        new("call from the server", peer => peer.StartUnary(new CallId(0, 1, true)), "this side serves no calls"),
        new("start of the client's own call", peer => peer.StartUnary(First), "which only this side may send"),
        new(
            "half a start of the client's own call",
            peer => peer.Send(FrameKind.CallStart, First, FrameFlags.HeadContinues, head: s_bytes),
            "which only this side may send"),
        new("half-close from the server", peer => peer.Send(FrameKind.HalfClose, First), "only this side may send"),
        new("cancel from the server", peer => peer.Send(FrameKind.Cancel, First), "which only this side may send"),
        new(
            "continuation of no message",
            peer => peer.Send(FrameKind.MessageChunk, First, 0, body: s_bytes),
            "that has not begun"),
        new(
            "continuation of no head",
            peer => peer.Send(FrameKind.HeadChunk, First, 0, head: s_bytes),
            "that continues no head"),
        new("message in the middle of a head", peer =>
        {
            peer.Send(FrameKind.Headers, First, FrameFlags.HeadContinues, head: s_bytes);
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: (uint)s_bytes.Length);
        }, "in the middle of its head"),
        new("message beyond its own length", peer =>
        {
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 150);
            peer.Send(FrameKind.MessageChunk, First, 0, body: s_bytes);
        }, "200 bytes of a message of 150"),
        new(
            "credit beyond any window",
            peer => peer.Send(FrameKind.Credit, First, argument: uint.MaxValue),
            "bytes of credit"),
        new("bytes of a stream", peer => peer.Send(FrameKind.Bytes, body: s_bytes), "Bytes on a connection for calls"),
    ];

    /// <summary>Violations towards a client that waits for a stream of responses.</summary>
    public static IEnumerable<Violation> OfStreams =>
    [
        new("end with a message behind a message", peer =>
        {
            peer.Send(FrameKind.Message, First, 0, body: Message("x"), argument: (uint)Message("x").Length);
            peer.Send(FrameKind.End, First, FrameFlags.HasMessage, body: Message("x"));
        }, "has a message, but the call has had other messages"),
        new("good end in the middle of a message", peer =>
        {
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 1000);
            peer.Send(FrameKind.End, First);
        }, "ended after 100"),
        new("end of zeros behind a message", peer =>
        {
            peer.Send(FrameKind.Message, First, 0, body: Message("x"), argument: (uint)Message("x").Length);
            peer.Send(FrameKind.End, First, 0, head: s_bytes);
        }, "bytes too many in a status trailer"),
        new("message inside a message", peer =>
        {
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 1000);
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 1000);
        }, "before the last was complete"),
        new("more messages than there is credit for", async peer =>
        {
            byte[] body = new byte[8000];
            while (await peer.SendWhenThereIsSpaceAsync(new(FrameKind.Message, First, 0, [], body, 8000)))
            {
            }
        }, "credit allowed"),
    ];
}
