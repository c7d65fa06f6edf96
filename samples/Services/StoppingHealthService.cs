using Grpc.Health.V1;
using Grpc.HealthCheck;

namespace RpcOverShm.Samples;

// snippet: watch
/// <summary>Health service whose watches end when the server begins to stop.</summary>
internal sealed class StoppingHealthService(CancellationToken stopping) : HealthServiceImpl
{
    public override async Task Watch(
        HealthCheckRequest request, IServerStreamWriter<HealthCheckResponse> responseStream, ServerCallContext context)
    {
        try
        {
            await base.Watch(request, responseStream, context).WaitAsync(stopping);
        }
        catch (OperationCanceledException) when (stopping.IsCancellationRequested)
        {
            // The watch ends OK. The base class forgets it when its call is over.
        }
    }
}
// end snippet
