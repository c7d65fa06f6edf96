using Grpc.Core;
using Grpc.Core.Interceptors;

namespace RpcOverShm.Protobuf;

/// <summary>
/// Sends the mapped exceptions of methods, and each <see cref="ShmFaultException{TDetail}"/>, with a typed detail
/// (<c>google.rpc.Status</c>).
/// </summary>
/// <remarks>
/// <para>
/// Other exceptions go on unchanged: the transport decides what the client sees of them. The trailers that the method
/// has set are sent too, and the exception is the cause of the failure that the server logs. An interceptor outside
/// this one sees a <see cref="RpcException"/>, one inside it the exception of the method.
/// </para>
/// <para>
/// Works with the servers of this library, with the callback services of its channels, and with any other gRPC server,
/// such as that of ASP.NET Core. A <c>ShmServer</c> sends a failure whose details are larger than the client's
/// <c>MaxMetadataSize</c> without them. Over HTTP/2 the limit of the client's transport applies.
/// </para>
/// <para>Thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmFaultServerInterceptor : Interceptor
{
    private readonly ShmFaults _faults;

    /// <summary>Creates the interceptor.</summary>
    /// <param name="faults">The mapped exceptions.</param>
    /// <exception cref="ArgumentNullException">The map is null.</exception>
    public ShmFaultServerInterceptor(ShmFaults faults)
    {
        ArgumentNullException.ThrowIfNull(faults);
        _faults = faults;
    }

    /// <inheritdoc/>
    public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
        TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation) =>
        Run(context, () => continuation(request, context), ConvertAsync);

    /// <inheritdoc/>
    public override Task<TResponse> ClientStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        ServerCallContext context,
        ClientStreamingServerMethod<TRequest, TResponse> continuation) =>
        Run(context, () => continuation(requestStream, context), ConvertAsync);

    /// <inheritdoc/>
    public override Task ServerStreamingServerHandler<TRequest, TResponse>(
        TRequest request,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        ServerStreamingServerMethod<TRequest, TResponse> continuation) =>
        Run(context, () => continuation(request, responseStream, context), ConvertAsync);

    /// <inheritdoc/>
    public override Task DuplexStreamingServerHandler<TRequest, TResponse>(
        IAsyncStreamReader<TRequest> requestStream,
        IServerStreamWriter<TResponse> responseStream,
        ServerCallContext context,
        DuplexStreamingServerMethod<TRequest, TResponse> continuation) =>
        Run(context, () => continuation(requestStream, responseStream, context), ConvertAsync);

    private TTask Run<TTask>(
        ServerCallContext context, Func<TTask> method, Func<ServerCallContext, TTask, TTask> convert)
        where TTask : Task
    {
        TTask running;
        try
        {
            running = method();
        }
        catch (Exception exception)
        {
            if (_faults.ToFailure(exception, context) is { } failure)
            {
                throw failure;
            }

            throw;
        }

        // A method that returned null is the transport's to report.
        return running is null or { IsCompletedSuccessfully: true } ? running! : convert(context, running);
    }

    private async Task ConvertAsync(ServerCallContext context, Task running)
    {
        try
        {
            await running.ConfigureAwait(false);
        }
        catch (Exception exception)
        {
            if (_faults.ToFailure(exception, context) is { } failure)
            {
                throw failure;
            }

            throw;
        }
    }

    private async Task<T> ConvertAsync<T>(ServerCallContext context, Task<T> running)
    {
        await ConvertAsync(context, (Task)running).ConfigureAwait(false);
        return running.Result;
    }
}
