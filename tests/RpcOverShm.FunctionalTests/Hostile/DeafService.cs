using Grpc.Core;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>A method that takes a stream of requests and reads none of them, until its call ends.</summary>
internal static class DeafService
{
    public static Method<Payload, Payload> Method { get; } =
        Script.Define(MethodType.ClientStreaming, "Listen", "rpcovershm.testing.Deaf");

    public static ServerServiceDefinition Build() =>
        ServerServiceDefinition.CreateBuilder().AddMethod(Method, ListenAsync).Build();

    private static async Task<Payload> ListenAsync(IAsyncStreamReader<Payload> requests, ServerCallContext context)
    {
        await Task.Delay(Timeout.Infinite, context.CancellationToken);
        return Payloads.Empty;
    }
}
