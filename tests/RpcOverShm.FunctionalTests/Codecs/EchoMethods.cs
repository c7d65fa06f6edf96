namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>A service that echoes messages of one type in every shape.</summary>
internal sealed class EchoMethods<T>(string service, Marshaller<T> marshaller)
    where T : class
{
    public Method<T, T> Of(MethodType shape) => new(shape, service, shape.ToString(), marshaller, marshaller);

    public ServerServiceDefinition Build() => ServerServiceDefinition.CreateBuilder()
        .AddMethod(Of(MethodType.Unary), static (request, _) => Task.FromResult(request))
        .AddMethod(Of(MethodType.ClientStreaming), EchoLastAsync)
        .AddMethod(
            Of(MethodType.ServerStreaming), static (request, responses, _) => responses.WriteAsync(request))
        .AddMethod(Of(MethodType.DuplexStreaming), EchoEachAsync)
        .Build();

    /// <summary>Sends a message and returns the echo.</summary>
    public async Task<T> EchoAsync(CallInvoker invoker, MethodType shape, T message)
    {
        switch (shape)
        {
            case MethodType.Unary:
                return await invoker.AsyncUnaryCall(Of(shape), null, default, message);
            case MethodType.ServerStreaming:
                using (AsyncServerStreamingCall<T> call =
                    invoker.AsyncServerStreamingCall(Of(shape), null, default, message))
                {
                    return await TakeOnlyAsync(call.ResponseStream);
                }

            case MethodType.ClientStreaming:
                using (AsyncClientStreamingCall<T, T> call =
                    invoker.AsyncClientStreamingCall(Of(shape), null, default))
                {
                    await call.RequestStream.WriteAsync(message);
                    await call.RequestStream.CompleteAsync();
                    return await call;
                }

            default:
                using (AsyncDuplexStreamingCall<T, T> call =
                    invoker.AsyncDuplexStreamingCall(Of(shape), null, default))
                {
                    await call.RequestStream.WriteAsync(message);
                    await call.RequestStream.CompleteAsync();
                    return await TakeOnlyAsync(call.ResponseStream);
                }
        }
    }

    private static async Task<T> TakeOnlyAsync(IAsyncStreamReader<T> responses)
    {
        Assert.That(await responses.MoveNext(CancellationToken.None));
        T only = responses.Current;
        Assert.That(await responses.MoveNext(CancellationToken.None), Is.False);
        return only;
    }

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
