using System.Text;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Frames that a client must never send, or not at that point.</summary>
internal static class ClientViolations
{
    private static readonly byte[] s_bytes = new byte[100];

    public static IEnumerable<Violation> All => [.. Shapes, .. Ids, .. States, .. Heads, .. Credit, .. OneWay];

    private static IEnumerable<Violation> Shapes =>
    [
        new(
            "flags that have no name",
            peer => peer.Send(FrameKind.CallStart, First, (FrameFlags)0x80, UnaryHead),
            "flags 0x80"),
        new("flags that exclude each other", peer => peer.Send(
            FrameKind.CallStart, First, FrameFlags.HasMessage | FrameFlags.HeadContinues, UnaryHead), "flags 0x5"),
        new("flags where none belong", peer => peer.Send(FrameKind.GoAway, default, FrameFlags.HalfClose), "flags 0x2"),
        new("argument where none belongs", peer => peer.Send(FrameKind.GoAway, argument: 1), "argument of 1"),
        new(
            "payload where none belongs",
            peer => peer.Send(FrameKind.GoAway, body: s_bytes),
            "payload of 100 bytes on a GoAway"),
        new("head beyond the payload", peer => peer.Send(
            FrameKind.CallStart, First, FrameFlags.None, UnaryHead, headLength: 5000), "a head of 5000"),
        new("head shorter than the payload", peer => peer.Send(
            FrameKind.CallStart, First, FrameFlags.None, UnaryHead, headLength: 3), "a head of 3"),
        new(
            "call start without a call",
            peer => peer.Send(FrameKind.CallStart, default, 0, UnaryHead),
            "a CallStart for call 0"),
        new("farewell of a call", peer => peer.Send(FrameKind.GoAway, First), "a GoAway for call"),
        new("bytes of a stream", peer => peer.Send(FrameKind.Bytes, body: s_bytes), "Bytes on a connection for calls"),
        new("end of a stream", peer => peer.Send(FrameKind.BytesEnd), "BytesEnd on a connection for calls"),
    ];

    private static IEnumerable<Violation> Ids =>
    [
        new("message of a call that was never started", peer => peer.Send(
            FrameKind.Message, First, 0, body: s_bytes, argument: 100), "never started"),
        new(
            "cancel of a call that was never started",
            peer => peer.Send(FrameKind.Cancel, new CallId(77, 1, false)),
            "never started"),
        OnStream("second start of a call that lives", peer => peer.StartStream(First), "started twice or out of turn"),
        OnStream(
            "start of the next call where one lives",
            peer => peer.StartStream(new CallId(0, 2, false)),
            "started twice or out of turn"),
        new(
            "start of a call out of turn",
            peer => peer.StartStream(new CallId(0, 2, false)),
            "started twice or out of turn"),
        new(
            "start of a call of generation 0",
            peer => peer.StartStream(new CallId(5, 0, false)),
            "started twice or out of turn"),
        new(
            "start of a call under the server's ids",
            peer => peer.StartStream(new CallId(0, 1, true)),
            "which is not open"),
    ];

    private static IEnumerable<Violation> States =>
    [
        OnStream(
            "response headers from a client",
            peer => peer.Send(FrameKind.Headers, First, 0, head: [0, 0]),
            "which only this side may send"),
        OnStream("end from a client", peer => peer.Send(FrameKind.End, First), "which only this side may send"),
        new(
            "end of a call under the server's ids",
            peer => peer.Send(FrameKind.End, new CallId(0, 1, true)),
            "which is not open"),
        OnStream("message after the half-close", peer =>
        {
            peer.Send(FrameKind.HalfClose, First);
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 100);
        }, "after the end of its messages"),
        new("message after a request that was the last", peer =>
        {
            peer.Send(
                FrameKind.CallStart, First, FrameFlags.HasMessage | FrameFlags.HalfClose, UnaryHead, Message("hold"));
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 100);
        }, "after the end of its messages"),
        OnStream(
            "continuation of no message",
            peer => peer.Send(FrameKind.MessageChunk, First, 0, body: s_bytes),
            "continued a message that had not begun"),
        OnStream("message inside a message", peer =>
        {
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 1000);
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 1000);
        }, "before the last was complete"),
        OnStream(
            "message beyond its own length at once",
            peer => peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 99),
            "payload of 100 bytes on a Message"),
        OnStream("message beyond its own length in the end", peer =>
        {
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 150);
            peer.Send(FrameKind.MessageChunk, First, 0, body: s_bytes);
        }, "200 bytes of a message of 150"),
        OnStream("half-close inside a message", peer =>
        {
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 1000);
            peer.Send(FrameKind.HalfClose, First);
        }, "ended after 100"),
        OnStream(
            "half-close with a part of a message",
            peer => peer.Send(FrameKind.Message, First, FrameFlags.HalfClose, body: s_bytes, argument: 1000),
            "ended after 100"),
    ];

    private static IEnumerable<Violation> Heads =>
    [
        OnStream(
            "continuation of no head",
            peer => peer.Send(FrameKind.HeadChunk, First, 0, head: s_bytes),
            "that continues no head"),
        new("message before the head is complete", peer =>
        {
            peer.Send(FrameKind.CallStart, First, FrameFlags.HeadContinues, UnaryHead);
            peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 100);
        }, "in the middle of its head"),
        new("head of no bytes", peer => peer.Send(FrameKind.CallStart, First), "A field of 1 bytes where 0 are left"),
        new(
            "head of zeros",
            peer => peer.Send(FrameKind.CallStart, First, 0, head: s_bytes),
            "bytes too many in a request head"),
        new("head of ones", peer => peer.Send(
            FrameKind.CallStart, First, 0, head: Enumerable.Repeat((byte)0xFF, 100).ToArray()), "Unknown flags 0xFF"),
        new("method longer than the head", peer => peer.Send(
            FrameKind.CallStart, First, 0, head: [0, 0xFF, 0xFF, (byte)'/']), "A field of 65535 bytes"),
        new("metadata that says it is more than it is", peer => peer.Send(
            FrameKind.CallStart, First, 0, head: [2, 1, 0, (byte)'/', 0xFF, 0xFF]),
            "A field of 2 bytes where 0 are left"),
        new("metadata with a value longer than the head", peer => peer.Send(
            FrameKind.CallStart, First, 0, head: MetadataHead("key", [], 0xFFFF_FFF0)), "A field of 4294967280 bytes"),
        new("metadata with an illegal key", peer => peer.Send(
            FrameKind.CallStart, First, 0, head: MetadataHead("Key", [65], 1)), "characters that no key may have"),
        new("metadata without a key", peer => peer.Send(
            FrameKind.CallStart, First, 0, head: MetadataHead("", [65], 1)), "characters that no key may have"),
        new("metadata with an illegal value", peer => peer.Send(
            FrameKind.CallStart, First, 0, head: MetadataHead("key", [10], 1)), "not printable ASCII"),
    ];

    private static IEnumerable<Violation> Credit =>
    [
        new("more messages than there is credit for", async peer =>
        {
            peer.StartStream(First);
            byte[] body = new byte[8000];
            for (int i = 0; i < 1000; i++)
            {
                await peer.SendWhenThereIsSpaceAsync(new(FrameKind.Message, First, 0, [], body, 8000));
            }
        }, "credit allowed"),
        new("empty messages beyond the credit", async peer =>
        {
            peer.StartStream(First);
            for (int i = 0; i < 100_000; i++)
            {
                await peer.SendWhenThereIsSpaceAsync(new(FrameKind.Message, First));
            }
        }, "credit allowed"),
        OnStream(
            "credit beyond any window at once",
            peer => peer.Send(FrameKind.Credit, First, argument: uint.MaxValue),
            "bytes of credit"),
        new("credit beyond any window in the end", async peer =>
        {
            peer.StartStream(First);
            for (int i = 0; i < 10; i++)
            {
                await peer.SendWhenThereIsSpaceAsync(new(FrameKind.Credit, First, 0, [], [], 1 << 29));
            }
        }, "bytes of credit"),
    ];

    private static IEnumerable<Violation> OneWay =>
    [
        new(
            "one-way call with one of several messages",
            peer => peer.Send(
                FrameKind.CallStart, First, FrameFlags.OneWay | FrameFlags.HasMessage, UnaryHead, Message("x")),
            "flags 0x11 on a one-way CallStart"),
        new(
            "one-way call without a message",
            peer => peer.Send(FrameKind.CallStart, First, FrameFlags.OneWay | FrameFlags.HalfClose, UnaryHead),
            "flags 0x12 on a one-way CallStart"),
        new(
            "one-way flag where none belongs",
            peer => peer.Send(FrameKind.Cancel, First, FrameFlags.OneWay),
            "flags 0x10 on a Cancel"),
        new("one-way call with a message of a stream", peer =>
        {
            peer.Send(FrameKind.CallStart, First, FrameFlags.OneWay, UnaryHead);
            peer.Send(FrameKind.Message, First, FrameFlags.HalfClose, body: s_bytes, argument: 100);
        }, "The peer sent a Message frame for one-way call 0.1. Such a call has one message"),
        new("half-close of a one-way call without a message", peer =>
        {
            peer.Send(FrameKind.CallStart, First, FrameFlags.OneWay, UnaryHead);
            peer.Send(FrameKind.HalfClose, First);
        }, "The peer sent a HalfClose frame for one-way call 0.1. Such a call has one message"),
        new("half-close of a one-way call behind its message", peer =>
        {
            peer.Send(FrameKind.CallStart, First, FrameFlags.OneWay, UnaryHead);
            peer.Send(FrameKind.Message, First, FrameFlags.Single, body: s_bytes, argument: 100);
            peer.Send(FrameKind.HalfClose, First);
        }, "The peer sent a HalfClose frame for one-way call 0.1. Such a call has one message"),
        new("half-close of a one-way call inside its message", peer =>
        {
            peer.Send(FrameKind.CallStart, First, FrameFlags.OneWay, UnaryHead);
            peer.Send(
                FrameKind.Message, First, FrameFlags.Single | FrameFlags.HalfClose, body: s_bytes, argument: 1000);
        }, "ended after 100"),
        new("credit of a one-way call", peer =>
        {
            peer.Send(FrameKind.CallStart, First, FrameFlags.OneWay, UnaryHead);
            peer.Send(FrameKind.Credit, First, argument: 1);
        }, "The peer sent a Credit frame for one-way call 0.1. Such a call has one message"),
        BehindOneWay("half-close", peer => peer.Send(FrameKind.HalfClose, First)),
        BehindOneWay("cancel", peer => peer.Send(FrameKind.Cancel, First)),
        BehindOneWay("message", peer => peer.Send(FrameKind.Message, First, 0, body: s_bytes, argument: 100)),
        new("frame behind a large one-way call", peer =>
        {
            peer.Send(FrameKind.CallStart, First, FrameFlags.OneWay, UnaryHead);
            peer.Send(
                FrameKind.Message, First, FrameFlags.Single | FrameFlags.HalfClose, body: s_bytes, argument: 100);
            peer.Send(FrameKind.HalfClose, First);
        }, "The peer sent a frame for call 0.1 after its last one"),
        new("frame behind a one-way call that was cancelled", peer =>
        {
            peer.Send(FrameKind.CallStart, First, FrameFlags.OneWay, UnaryHead);
            peer.Send(FrameKind.Cancel, First);
            peer.Send(FrameKind.Cancel, First);
        }, "The peer sent a frame for call 0.1 after its last one"),
        new(
            "one-way call under the server's ids",
            peer => peer.Send(FrameKind.CallStart, new CallId(0, 1, true), WholeOneWay, UnaryHead, Message("x")),
            "which is not open"),
        new("one-way call out of turn", peer =>
        {
            peer.Send(FrameKind.CallStart, First, WholeOneWay, UnaryHead, Message("x"));
            peer.Send(FrameKind.CallStart, First, WholeOneWay, UnaryHead, Message("x"));
        }, "started twice or out of turn"),
        OnStream(
            "one-way call where another one lives",
            peer => peer.Send(
                FrameKind.CallStart, new CallId(0, 2, false), WholeOneWay, UnaryHead, Message("x")),
            "started twice or out of turn"),
        new(
            "credit for the connection",
            peer => peer.Send(FrameKind.Credit, argument: 1),
            "a Credit for call 0"),
    ];

    private static FrameFlags WholeOneWay => FrameFlags.OneWay | FrameFlags.HasMessage | FrameFlags.HalfClose;

    /// <summary>Creates a violation on a call whose method never reads.</summary>
    private static Violation OnStream(string name, Action<RawPeer> act, string complaint) => new(
        name,
        peer =>
        {
            peer.StartStream(First);
            act(peer);
        },
        complaint);

    private static Violation BehindOneWay(string name, Action<RawPeer> act) => new(
        $"{name} behind a one-way call",
        peer =>
        {
            peer.Send(FrameKind.CallStart, First, WholeOneWay, UnaryHead, Message("x"));
            act(peer);
        },
        "The peer sent a frame for call 0.1 after its last one");

    private static byte[] MetadataHead(string key, byte[] value, uint valueLength) =>
    [
        2, 1, 0, (byte)'/', 1, 0, (byte)key.Length, 0, .. Encoding.ASCII.GetBytes(key),
        .. BitConverter.GetBytes(valueLength),
        .. value,
    ];
}

/// <summary>A protocol violation and a part of the victim's complaint.</summary>
internal sealed record Violation(string Name, Func<RawPeer, Task> ActAsync, string Complaint)
{
    public Violation(string name, Action<RawPeer> act, string complaint)
        : this(name, peer => Run(act, peer), complaint)
    {
    }

    public override string ToString() => Name;

    private static Task Run(Action<RawPeer> act, RawPeer peer)
    {
        act(peer);
        return Task.CompletedTask;
    }
}
