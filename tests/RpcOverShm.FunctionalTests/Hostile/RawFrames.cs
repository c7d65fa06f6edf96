using Google.Protobuf;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>The parts of legal frames.</summary>
internal static class RawFrames
{
    /// <summary>The id of a client's first call.</summary>
    public static CallId First { get; } = new(0, 1, isFromAcceptor: false);

    public static byte[] UnaryHead { get; } = Head(Script.UnaryMethod);

    /// <summary>The head of a method that reads none of its requests.</summary>
    public static byte[] DeafHead { get; } = Head(DeafService.Method);

    public static byte[] ServerStreamHead { get; } = Head(Script.ServerStreamMethod);

    /// <summary>A hello without its last byte.</summary>
    public static byte[] Shortened(Hello hello)
    {
        byte[] bytes = hello.Encode()[..^1];
        bytes[16] = (byte)bytes.Length;
        return bytes;
    }

    /// <summary>The trailer of a call that a stopping server has refused.</summary>
    public static byte[] Refusal { get; } = Trailer(StatusCode.Unavailable, "leaving", isNotProcessed: true);

    public static byte[] Head(IMethod method) => Head(method.FullName);

    public static byte[] Head(
        string method, string? encoding = null, TimeSpan? timeout = null, string? codec = null)
    {
        using var bytes = new PooledBufferWriter();
        new RequestHead
        {
            Method = System.Text.Encoding.UTF8.GetBytes(method),
            Encoding = encoding,
            Timeout = timeout,
            Codec = codec,
        }.Encode(bytes);
        return bytes.WrittenSpan.ToArray();
    }

    /// <summary>The header of a message of the first call that is as large as a record of this ring can be.</summary>
    public static RecordHeader LargestMessage(long capacity)
    {
        uint length = (uint)RingLimits.MaxPayloadBytes(capacity);
        return new RecordHeader(length, (byte)FrameKind.Message, 0, 0, First.Value, length);
    }

    public static byte[] Message(string text) => Payloads.Of(text).ToByteArray();

    public static byte[] Trailer(StatusCode code, string detail, bool isNotProcessed = false)
    {
        using var bytes = new PooledBufferWriter();
        new StatusTrailer(new Status(code, detail), null, isNotProcessed).Encode(bytes);
        return bytes.WrittenSpan.ToArray();
    }

    /// <summary>The start of a call with its whole request.</summary>
    public static RawFrame WholeCall(CallId call, byte[] head, byte[]? message = null, FrameFlags more = 0) =>
        new(FrameKind.CallStart, call, FrameFlags.HasMessage | FrameFlags.HalfClose | more, head, message);

    /// <summary>Sends the start of a unary call with its whole request.</summary>
    public static void StartUnary(this RawPeer peer, CallId call, string text = "raw") =>
        peer.Start(call, UnaryHead, Message(text));

    /// <summary>Sends the start of a server streaming call with its whole request.</summary>
    public static void StartServerStream(this RawPeer peer, string text) =>
        peer.Start(First, ServerStreamHead, Message(text));

    /// <summary>Sends the start of a call with its whole request.</summary>
    public static void Start(this RawPeer peer, CallId call, byte[] head, byte[] message) =>
        peer.Send(FrameKind.CallStart, call, FrameFlags.HasMessage | FrameFlags.HalfClose, head, message);

    /// <summary>Waits for the next call and its whole request.</summary>
    public static async Task<CallId> ReceiveCallAsync(this RawPeer server)
    {
        RawFrame frame = await server.ReceiveAsync(FrameKind.CallStart);
        CallId call = frame.Call;
        while ((frame.Flags & FrameFlags.HalfClose) == 0)
        {
            frame = await server.ReceiveAsync();
        }

        return call;
    }

    /// <summary>Refuses a call as a stopping server does, before a method has seen it.</summary>
    public static void Refuse(this RawPeer server, CallId call)
    {
        server.Send(FrameKind.GoAway);
        server.Send(FrameKind.End, call, FrameFlags.None, Refusal);
    }

    /// <summary>Makes a unary call with an encoded message; returns its end.</summary>
    public static async Task<StatusTrailer> CallAsync(
        this RawPeer client, uint number, string encoding, byte[] message)
    {
        client.Start(new CallId(0, number, false), Head(Script.UnaryMethod.FullName, encoding), message);
        return StatusTrailer.Decode((await client.ReceiveAsync(FrameKind.End)).Head);
    }

    /// <summary>Sends the start of a call whose method never reads the requests that follow.</summary>
    public static void StartStream(this RawPeer peer, CallId call) =>
        peer.Send(FrameKind.CallStart, call, FrameFlags.None, DeafHead);

    public static Payload Read(this RawFrame frame) => Payload.Parser.ParseFrom(frame.Body);
}
