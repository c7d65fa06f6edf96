using Grpc.Core;
using Grpc.Health.V1;
using RpcOverShm.Services;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>
/// Writes each status as a large message of the scripted service, so that a few of them fill a call's window, and so
/// that the peer process, which knows the scripted service only, can watch.
/// </summary>
internal sealed class StatusPayloads(IServerStreamWriter<Payload> responses, int bytes)
    : IServerStreamWriter<HealthCheckResponse>
{
    public WriteOptions? WriteOptions { get; set; }

    public static ServingStatus StatusIn(Payload payload) => (ServingStatus)(payload.Data.Length % 16);

    /// <summary>A script whose server stream watches a service.</summary>
    public static Script Watching(ShmHealthService health, string service, int bytes) => new()
    {
        ServerStream = (_, responses, context) => health.Watch(
            new HealthCheckRequest { Service = service }, new StatusPayloads(responses, bytes), context),
    };

    public Task WriteAsync(HealthCheckResponse message) =>
        responses.WriteAsync(Payloads.OfSize((bytes / 16 * 16) + (int)message.Status));

    public Task WriteAsync(HealthCheckResponse message, CancellationToken cancellationToken)
    {
        Assert.That(cancellationToken.CanBeCanceled, Is.False, "Grpc.Core takes none.");
        return WriteAsync(message);
    }
}
