namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>A service that echoes messages of one type in every shape. Without a marshaller it needs a codec.</summary>
internal sealed class EchoMethods<T>(string service, Marshaller<T>? marshaller = null)
    where T : class
{
    public Method<T, T> Of(MethodType shape) => marshaller is null
        ? ShmMethod.Create<T, T>(shape, service, shape.ToString())
        : new Method<T, T>(shape, service, shape.ToString(), marshaller, marshaller);

    public ServerServiceDefinition Build() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(Of(MethodType.Unary), static (request, _) => Task.FromResult(request))
        .AddMethod(Of(MethodType.ClientStreaming), EchoLastAsync)
        .AddMethod(
            Of(MethodType.ServerStreaming), static (request, responses, _) => responses.WriteAsync(request))
        .AddMethod(Of(MethodType.DuplexStreaming), EchoEachAsync)
        .Build();

    /// <summary>Sends a message and returns the echo.</summary>
    public async Task<T> EchoAsync(CallInvoker invoker, MethodType shape, T message) =>
        (await AnyCall.CallAsync(invoker, Of(shape), message))!;

    private static async Task<T> EchoLastAsync(IAsyncStreamReader<T> requests, ServerCallContext context)
    {
        T? last = null;
        while (await requests.MoveNext(CancellationToken.None))
        {
            (last as IDisposable)?.Dispose();
            last = requests.Current;
        }

        return last!;
    }

    private static async Task EchoEachAsync(
        IAsyncStreamReader<T> requests, IServerStreamWriter<T> responses, ServerCallContext context)
    {
        while (await requests.MoveNext(CancellationToken.None))
        {
            T message = requests.Current;
            await responses.WriteAsync(message);
            (message as IDisposable)?.Dispose();
        }
    }
}
