using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>
/// Writes the request stream of a retried call. A write completes when an attempt has taken the message.
/// </summary>
internal sealed class RetriedRequestWriter<TRequest, TResponse>(
    RetriedCall<TResponse> call, ClientMethod<TRequest, TResponse> method, Marshaller<TRequest> marshaller)
    : RequestWriter<TRequest, RetriedCall<TResponse>>(call)
    where TRequest : class
    where TResponse : class
{
    protected override Task<bool> StartWriteAsync(TRequest message)
    {
        SerializedMessage bytes;
        try
        {
            bytes = SerializedMessage.Of(marshaller, message, method.Settings.MaxSendMessageBytes);
        }
        catch (Exception exception)
        {
            return Task.FromException<bool>(Call.Fail(
                StatusMapping.FromRequestFailure(exception, method.Settings.Side)));
        }

        return Call.WriteAsync(bytes, WriteOptions);
    }

    protected override Task HalfCloseAsync()
    {
        Call.CompleteRequests();
        return Task.CompletedTask;
    }
}
