using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Testing;

/// <summary>
/// A service with one method of each call shape, whose handlers the test sets. The default handlers echo.
/// </summary>
public sealed class Script
{
    public const string ServiceName = "rpcovershm.testing.Script";

    private static readonly Marshaller<Payload> s_marshaller = Marshallers.Create(Serialize, Deserialize);

    public static Method<Payload, Payload> UnaryMethod { get; } = Define(MethodType.Unary, "Unary");

    public static Method<Payload, Payload> ClientStreamMethod { get; } = Define(
        MethodType.ClientStreaming, "ClientStream");

    public static Method<Payload, Payload> ServerStreamMethod { get; } = Define(
        MethodType.ServerStreaming, "ServerStream");

    public static Method<Payload, Payload> DuplexMethod { get; } = Define(MethodType.DuplexStreaming, "Duplex");

    public UnaryServerMethod<Payload, Payload> Unary { get; set; } = static (request, _) => Task.FromResult(request);

    public ClientStreamingServerMethod<Payload, Payload> ClientStream { get; set; } = EchoLastAsync;

    public ServerStreamingServerMethod<Payload, Payload> ServerStream { get; set; } =
        static (request, responses, _) => responses.WriteAsync(request);

    public DuplexStreamingServerMethod<Payload, Payload> Duplex { get; set; } = EchoEachAsync;

    /// <summary>Defines a method that no server has, or one whose type differs from the server's.</summary>
    public static Method<Payload, Payload> Define(MethodType type, string name, string service = ServiceName) =>
        new(type, service, name, s_marshaller, s_marshaller);

    /// <summary>Creates a script whose methods all run the delegate.</summary>
    public static Script Everywhere(Func<ServerCallContext, Task> act) => new()
    {
        Unary = async (request, context) =>
        {
            await act(context);
            return request;
        },
        ClientStream = async (_, context) =>
        {
            await act(context);
            return Payloads.Empty;
        },
        ServerStream = (_, _, context) => act(context),
        Duplex = (_, _, context) => act(context),
    };

    public ServerServiceDefinition Build() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(UnaryMethod, (request, context) => Unary(request, context))
        .AddMethod(ClientStreamMethod, (requests, context) => ClientStream(requests, context))
        .AddMethod(ServerStreamMethod, (request, responses, context) => ServerStream(request, responses, context))
        .AddMethod(DuplexMethod, (requests, responses, context) => Duplex(requests, responses, context))
        .Build();

    private static async Task<Payload> EchoLastAsync(IAsyncStreamReader<Payload> requests, ServerCallContext context)
    {
        var last = new Payload();
        while (await requests.MoveNext(CancellationToken.None))
        {
            last = requests.Current;
        }

        return last;
    }

    private static async Task EchoEachAsync(
        IAsyncStreamReader<Payload> requests, IServerStreamWriter<Payload> responses, ServerCallContext context)
    {
        while (await requests.MoveNext(CancellationToken.None))
        {
            await responses.WriteAsync(requests.Current);
        }
    }

    // As generated code does: sets the exact size, then writes directly into the transport's buffer.
    private static void Serialize(Payload message, SerializationContext context)
    {
        context.SetPayloadLength(message.CalculateSize());
        message.WriteTo(context.GetBufferWriter());
        context.Complete();
    }

    private static Payload Deserialize(DeserializationContext context) =>
        Payload.Parser.ParseFrom(context.PayloadAsReadOnlySequence());
}

/// <summary>Calls a <see cref="Script"/>, as a generated client does.</summary>
public sealed class ScriptClient(CallInvoker invoker)
{
    public Payload Unary(Payload request, CallOptions options = default) =>
        invoker.BlockingUnaryCall(Script.UnaryMethod, null, options, request);

    public AsyncUnaryCall<Payload> UnaryAsync(Payload request, CallOptions options = default) =>
        invoker.AsyncUnaryCall(Script.UnaryMethod, null, options, request);

    public AsyncServerStreamingCall<Payload> ServerStream(Payload request, CallOptions options = default) =>
        invoker.AsyncServerStreamingCall(Script.ServerStreamMethod, null, options, request);

    public AsyncClientStreamingCall<Payload, Payload> ClientStream(CallOptions options = default) =>
        invoker.AsyncClientStreamingCall(Script.ClientStreamMethod, null, options);

    public AsyncDuplexStreamingCall<Payload, Payload> Duplex(CallOptions options = default) =>
        invoker.AsyncDuplexStreamingCall(Script.DuplexMethod, null, options);
}
