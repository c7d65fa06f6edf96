using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// What gRPC's call objects ask of a call, as delegates that are made once and take the call as their state.
/// </summary>
internal static class CallAccess
{
    public static readonly Func<object, Task<Metadata>> GetHeaders = static call =>
        ((ClientCall)call).GetHeadersAsync();

    public static readonly Func<object, Status> GetStatus = static call => ((ClientCall)call).Status;

    public static readonly Func<object, Metadata> GetTrailers = static call => ((ClientCall)call).Trailers;

    public static readonly Action<object> Dispose = static call => ((ClientCall)call).Dispose();
}
