using Google.Protobuf.Reflection;
using Grpc.Core;

namespace RpcOverShm.Tool.Bench;

/// <summary>
/// A method that is called again and again with the same requests, over one channel. Thread-safe.
/// </summary>
internal sealed class RepeatedCall(
    CallInvoker invoker, MethodDescriptor method, IReadOnlyList<byte[]> requests, Func<CallOptions> newOptions)
{
    private static readonly Marshaller<byte[]> s_bytes = Marshallers.Create<byte[]>(bytes => bytes, bytes => bytes);

    private readonly Method<byte[], byte[]> _method = new(
        (method.IsClientStreaming, method.IsServerStreaming) switch
        {
            (false, false) => MethodType.Unary,
            (false, true) => MethodType.ServerStreaming,
            (true, false) => MethodType.ClientStreaming,
            (true, true) => MethodType.DuplexStreaming,
        },
        method.Service.FullName,
        method.Name,
        s_bytes,
        s_bytes);

    /// <summary>Makes one call, whole streams included; returns its answers.</summary>
    /// <exception cref="RpcException">The call failed.</exception>
    public async Task<IReadOnlyList<byte[]>> RunAsync(CancellationToken cancellationToken)
    {
        CallOptions options = newOptions().WithCancellationToken(cancellationToken);
        switch (_method.Type)
        {
            case MethodType.Unary:
                using (AsyncUnaryCall<byte[]> call = invoker.AsyncUnaryCall(_method, null, options, requests[0]))
                {
                    return [await call.ResponseAsync.ConfigureAwait(false)];
                }

            case MethodType.ServerStreaming:
                using (AsyncServerStreamingCall<byte[]> call = invoker.AsyncServerStreamingCall(
                    _method, null, options, requests[0]))
                {
                    return await ReadAsync(call.ResponseStream).ConfigureAwait(false);
                }

            case MethodType.ClientStreaming:
                using (AsyncClientStreamingCall<byte[], byte[]> call = invoker.AsyncClientStreamingCall(
                    _method, null, options))
                {
                    await WriteAsync(call.RequestStream).ConfigureAwait(false);
                    return [await call.ResponseAsync.ConfigureAwait(false)];
                }

            default:
                using (AsyncDuplexStreamingCall<byte[], byte[]> call = invoker.AsyncDuplexStreamingCall(
                    _method, null, options))
                {
                    Task<IReadOnlyList<byte[]>> answers = ReadAsync(call.ResponseStream);
                    await WriteAsync(call.RequestStream).ConfigureAwait(false);
                    return await answers.ConfigureAwait(false);
                }
        }
    }

    private static async Task<IReadOnlyList<byte[]>> ReadAsync(IAsyncStreamReader<byte[]> responses)
    {
        var answers = new List<byte[]>();
        while (await responses.MoveNext(CancellationToken.None).ConfigureAwait(false))
        {
            answers.Add(responses.Current);
        }

        return answers;
    }

    // A call that has ended takes no more requests; its answer says why.
    private async Task WriteAsync(IClientStreamWriter<byte[]> stream)
    {
        try
        {
            foreach (byte[] request in requests)
            {
                await stream.WriteAsync(request).ConfigureAwait(false);
            }

            await stream.CompleteAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is RpcException or InvalidOperationException)
        {
            // The reader of the answers gets the status.
        }
    }
}
