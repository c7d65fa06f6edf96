using Grpc.Health.V1;
using Grpc.HealthCheck;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>The package's health service with a count of its running watches.</summary>
internal sealed class CountedHealthService : HealthServiceImpl
{
    private int _watches;

    public int Watches => Volatile.Read(ref _watches);

    public override async Task Watch(
        HealthCheckRequest request, IServerStreamWriter<HealthCheckResponse> responseStream, ServerCallContext context)
    {
        Interlocked.Increment(ref _watches);
        try
        {
            await base.Watch(request, responseStream, context);
        }
        finally
        {
            Interlocked.Decrement(ref _watches);
        }
    }
}
