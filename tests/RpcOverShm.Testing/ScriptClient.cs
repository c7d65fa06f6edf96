using Grpc.Core;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Testing;

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
