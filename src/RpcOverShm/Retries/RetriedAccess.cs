using Grpc.Core;

namespace RpcOverShm.Retries;

/// <summary>
/// What gRPC's call objects ask of a call, as delegates that are made once and take the call as their state.
/// </summary>
internal static class RetriedAccess<TResponse>
    where TResponse : class
{
    public static readonly Func<object, Task<Metadata>> GetHeaders = static call => Of(call).GetHeadersAsync();

    public static readonly Func<object, Status> GetStatus = static call => Of(call).Status;

    public static readonly Func<object, Metadata> GetTrailers = static call => Of(call).Trailers;

    public static readonly Action<object> Dispose = static call => Of(call).Dispose();

    private static RetriedCall<TResponse> Of(object call) => (RetriedCall<TResponse>)call;
}
