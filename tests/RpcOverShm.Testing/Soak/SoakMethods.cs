using System.Globalization;
using Grpc.Core;

namespace RpcOverShm.Testing.Soak;

/// <summary>
/// The service of a soak: a method of each shape with raw messages. Its marshallers write in parts into the
/// transport's buffer, as generated ones do; a channel with the raw codec replaces them.
/// </summary>
public static class SoakMethods
{
    public const string ServiceName = "rpcovershm.testing.Soak";

    private const string CallKey = "soak-call";
    private const string EchoKey = "soak-echo";
    private const int PieceBytes = 8 << 10;

    private static readonly Marshaller<byte[]> s_marshaller = Marshallers.Create(
        Serialize, static context => context.PayloadAsNewBuffer());

    public static Method<byte[], byte[]> Unary { get; } = Define(MethodType.Unary);

    public static Method<byte[], byte[]> ServerStream { get; } = Define(MethodType.ServerStreaming);

    public static Method<byte[], byte[]> ClientStream { get; } = Define(MethodType.ClientStreaming);

    public static Method<byte[], byte[]> Duplex { get; } = Define(MethodType.DuplexStreaming);

    /// <summary>Returns the request headers of a call.</summary>
    public static Metadata HeadersOf(SoakPlan plan) => new() { { CallKey, TextOf(plan.CallId) } };

    public static ulong CallIdOf(ServerCallContext context) => ulong.Parse(
        context.RequestHeaders.GetValue(CallKey) ?? throw new SoakViolationException("A call arrived without its id."),
        CultureInfo.InvariantCulture);

    /// <summary>Adds the trailer by which the client checks that it got the trailers of its own call.</summary>
    public static void AddTrailer(ServerCallContext context, ulong callId) =>
        context.ResponseTrailers.Add(EchoKey, TextOf(callId));

    /// <exception cref="SoakViolationException">The trailers belong to another call.</exception>
    public static void CheckTrailers(Metadata trailers, SoakPlan plan)
    {
        if (trailers.GetValue(EchoKey) is { } value && value != TextOf(plan.CallId))
        {
            throw new SoakViolationException($"The trailers of call {value} came with {plan}.");
        }
    }

    private static string TextOf(ulong callId) => callId.ToString(CultureInfo.InvariantCulture);

    private static Method<byte[], byte[]> Define(MethodType type) =>
        new(type, ServiceName, type.ToString(), s_marshaller, s_marshaller);

    private static void Serialize(byte[] message, SerializationContext context)
    {
        context.SetPayloadLength(message.Length);
        System.Buffers.IBufferWriter<byte> writer = context.GetBufferWriter();
        for (int at = 0; at < message.Length; at += PieceBytes)
        {
            ReadOnlySpan<byte> piece = message.AsSpan(at, Math.Min(PieceBytes, message.Length - at));
            piece.CopyTo(writer.GetSpan(piece.Length));
            writer.Advance(piece.Length);
        }

        context.Complete();
    }
}
