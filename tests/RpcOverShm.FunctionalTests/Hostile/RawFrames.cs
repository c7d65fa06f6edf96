using Google.Protobuf;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>What legal frames are made of.</summary>
internal static class RawFrames
{
    /// <summary>The first call that a client makes.</summary>
    public static CallId First { get; } = new(0, 1, isFromAcceptor: false);

    public static byte[] UnaryHead { get; } = Head(Script.UnaryMethod);

    /// <summary>Of a method that reads none of its requests.</summary>
    public static byte[] DeafHead { get; } = Head(DeafService.Method);

    public static byte[] ServerStreamHead { get; } = Head(Script.ServerStreamMethod);

    public static byte[] Head(IMethod method) => Head(method.FullName);

    public static byte[] Head(string method)
    {
        using var bytes = new PooledBufferWriter();
        new RequestHead { Method = System.Text.Encoding.UTF8.GetBytes(method) }.Encode(bytes);
        return bytes.WrittenSpan.ToArray();
    }

    public static byte[] Message(string text) => Payloads.Of(text).ToByteArray();

    public static byte[] Trailer(StatusCode code, string detail, bool isNotProcessed = false)
    {
        using var bytes = new PooledBufferWriter();
        new StatusTrailer(new Status(code, detail), null, isNotProcessed).Encode(bytes);
        return bytes.WrittenSpan.ToArray();
    }

    /// <summary>Starts a unary call with its whole request.</summary>
    public static void StartUnary(this RawPeer peer, CallId call, string text = "raw") => peer.Send(
        FrameKind.CallStart, call, FrameFlags.HasMessage | FrameFlags.HalfClose, UnaryHead, Message(text));

    /// <summary>Starts a call whose requests are to follow, and are not read.</summary>
    public static void StartStream(this RawPeer peer, CallId call) =>
        peer.Send(FrameKind.CallStart, call, FrameFlags.None, DeafHead);

    public static Payload Read(this RawFrame frame) => Payload.Parser.ParseFrom(frame.Body);
}

/// <summary>One frame that a victim has sent.</summary>
internal sealed record RawFrame(
    FrameKind Kind, FrameFlags Flags, CallId Call, uint Argument, byte[] Head, byte[] Body);
