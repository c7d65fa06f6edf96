using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.MessagePack.Tests.Protos;

namespace RpcOverShm.MessagePack.Tests.Calls;

/// <summary>
/// A service over messages with fields of every kind. A response is the request, extended by its Protobuf bytes as the
/// server saw them. The marshallers are Protobuf's, as in generated code.
/// </summary>
internal static class MirrorService
{
    private static readonly Marshaller<Everything> s_everything = Marshallers.Create(
        static (message, context) =>
        {
            context.SetPayloadLength(message.CalculateSize());
            message.WriteTo(context.GetBufferWriter());
            context.Complete();
        },
        static context => Everything.Parser.ParseFrom(context.PayloadAsReadOnlySequence()));

    public static Method<Everything, Everything> Unary { get; } = Define(MethodType.Unary);

    public static Method<Everything, Everything> Duplex { get; } = Define(MethodType.DuplexStreaming);

    public static ServerServiceDefinition Build() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(Unary, static (request, _) => Task.FromResult(AnswerTo(request)))
        .AddMethod(
            Duplex,
            static async (requests, responses, _) =>
            {
                while (await requests.MoveNext(CancellationToken.None))
                {
                    await responses.WriteAsync(AnswerTo(requests.Current));
                }
            })
        .Build();

    /// <summary>Returns the response that the server must send.</summary>
    public static Everything AnswerTo(Everything request)
    {
        Everything answer = request.Clone();
        answer.Node = new Node { Name = Convert.ToHexString(request.ToByteArray()), Next = request.Node };
        return answer;
    }

    private static Method<Everything, Everything> Define(MethodType shape) =>
        new(shape, "rpcovershm.msgpack.test.Mirror", shape.ToString(), s_everything, s_everything);
}
