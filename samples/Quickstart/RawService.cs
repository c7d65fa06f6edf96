using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>A service without a <c>.proto</c> file: it sends received bytes back and never parses them.</summary>
internal static class RawService
{
    public static Method<ShmPayload, ShmPayload> Unary { get; } = Define(MethodType.Unary);

    public static Method<ShmPayload, ShmPayload> ServerStream { get; } = Define(MethodType.ServerStreaming);

    public static Method<ShmPayload, ShmPayload> ClientStream { get; } = Define(MethodType.ClientStreaming);

    public static Method<ShmPayload, ShmPayload> Duplex { get; } = Define(MethodType.DuplexStreaming);

    public static ServerServiceDefinition Build() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(Unary, static (request, _) => Task.FromResult(request)) // The server disposes the result.
        .AddMethod(ServerStream, RepeatAsync)
        .AddMethod(ClientStream, EchoLongestAsync)
        .AddMethod(Duplex, EchoEachAsync)
        .Build();

    private static async Task RepeatAsync(
        ShmPayload request, IServerStreamWriter<ShmPayload> responses, ServerCallContext context)
    {
        using (request)
        {
            for (int i = 0; i < 10; i++)
            {
                await responses.WriteAsync(request);
            }
        }
    }

    private static async Task<ShmPayload> EchoLongestAsync(
        IAsyncStreamReader<ShmPayload> requests, ServerCallContext context)
    {
        ShmPayload longest = ShmPayload.Wrap(ReadOnlyMemory<byte>.Empty);
        while (await requests.MoveNext(context.CancellationToken))
        {
            ShmPayload request = requests.Current;
            (longest, ShmPayload shorter) = request.Length > longest.Length ? (request, longest) : (longest, request);
            shorter.Dispose();
        }

        return longest;
    }

    private static async Task EchoEachAsync(
        IAsyncStreamReader<ShmPayload> requests, IServerStreamWriter<ShmPayload> responses, ServerCallContext context)
    {
        while (await requests.MoveNext(context.CancellationToken))
        {
            using ShmPayload request = requests.Current;
            await responses.WriteAsync(request);
        }
    }

    private static Method<ShmPayload, ShmPayload> Define(MethodType shape) => new(
        shape, "rpcovershm.samples.Raw", shape.ToString(), ShmPayload.Marshaller, ShmPayload.Marshaller);
}
