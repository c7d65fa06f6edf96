using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Retries;

/// <summary>A method's policy, and the method with requests that are serialised already.</summary>
/// <param name="Policy">Null where failures are final.</param>
/// <param name="Raw">What attempts call.</param>
internal sealed record RetriedMethod<TResponse>(RetryPolicy? Policy, Method<SerializedMessage, TResponse> Raw)
    where TResponse : class
{
    public static RetriedMethod<TResponse> Of<TRequest>(Method<TRequest, TResponse> method, RetryPolicy? policy) =>
        new(policy, new Method<SerializedMessage, TResponse>(
            method.Type, method.ServiceName, method.Name, SerializedMessage.Marshaller, method.ResponseMarshaller));
}
