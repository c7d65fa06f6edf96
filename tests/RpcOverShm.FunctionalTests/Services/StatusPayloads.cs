using Grpc.Health.V1;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>
/// Writes each status as a large message of the scripted service: a few of them fill a call's window, and the peer
/// process, which knows only the scripted service, can watch.
/// </summary>
internal sealed class StatusPayloads(IServerStreamWriter<Payload> responses, int bytes)
    : IServerStreamWriter<HealthCheckResponse>
{
    private Task? _lastWrite;
    private int _begunWrites;

    public WriteOptions? WriteOptions { get; set; }

    /// <summary>The last write begun; null before the first.</summary>
    public Task? LastWrite => Volatile.Read(ref _lastWrite);

    public int BegunWrites => Volatile.Read(ref _begunWrites);

    public static ServingStatus StatusIn(Payload payload) => (ServingStatus)(payload.Data.Length % 16);

    /// <summary>Creates a script whose server stream watches a service.</summary>
    /// <param name="health">The health service.</param>
    /// <param name="service">The name of the watched service.</param>
    /// <param name="bytes">The approximate size of each message.</param>
    /// <param name="opened">Called before each watch begins; null for no call.</param>
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
