using Grpc.Health.V1;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>
/// Writes each status as a large message of the scripted service, so that a few of them fill a call's window, and so
/// that the peer process, which knows the scripted service only, can watch.
/// </summary>
internal sealed class StatusPayloads(IServerStreamWriter<Payload> responses, int bytes)
    : IServerStreamWriter<HealthCheckResponse>
{
    private Task? _lastWrite;
    private int _begunWrites;

    public WriteOptions? WriteOptions { get; set; }

    /// <summary>The write that was begun last; null before the first.</summary>
    public Task? LastWrite => Volatile.Read(ref _lastWrite);

    /// <summary>How many writes were begun.</summary>
    public int BegunWrites => Volatile.Read(ref _begunWrites);

    public static ServingStatus StatusIn(Payload payload) => (ServingStatus)(payload.Data.Length % 16);

    /// <summary>A script whose server stream watches a service.</summary>
    /// <param name="health">The service that says how services are.</param>
    /// <param name="service">The one that is watched.</param>
    /// <param name="bytes">About how large each message is.</param>
    /// <param name="opened">Is told of each watch before it begins; null for nobody.</param>
    public static Script Watching(
        CountedHealthService health, string service, int bytes, Action<StatusPayloads>? opened = null) => new()
        {
            ServerStream = (_, responses, context) =>
            {
                var payloads = new StatusPayloads(responses, bytes);
                opened?.Invoke(payloads);
                return health.Watch(new HealthCheckRequest { Service = service }, payloads, context);
            },
        };

    public Task WriteAsync(HealthCheckResponse message)
    {
        Interlocked.Increment(ref _begunWrites);
        Task write = responses.WriteAsync(Payloads.OfSize((bytes / 16 * 16) + (int)message.Status));
        Volatile.Write(ref _lastWrite, write);
        return write;
    }

    public Task WriteAsync(HealthCheckResponse message, CancellationToken cancellationToken)
    {
        Assert.That(cancellationToken.CanBeCanceled, Is.False, "Grpc.Core takes none.");
        return WriteAsync(message);
    }
}
