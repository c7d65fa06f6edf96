using Grpc.Health.V1;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>The base of the health service's tests.</summary>
internal abstract class HealthFixture(RigKind kind) : RigFixture(kind)
{
    protected const string Service = "tests.Service";

    protected static CountedHealthService ServiceWith(ServingStatus status)
    {
        var health = new CountedHealthService();
        health.SetStatus(Service, status);
        return health;
    }

    protected async Task<Health.HealthClient> StartAsync(CountedHealthService health) =>
        new((await StartAsync(null, Health.BindService(health))).Channel);

    protected static AsyncServerStreamingCall<HealthCheckResponse> Watch(
        Health.HealthClient client, string service = Service) =>
        client.Watch(new HealthCheckRequest { Service = service });

    protected static async Task<ServingStatus> NextAsync(AsyncServerStreamingCall<HealthCheckResponse> call)
    {
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), "The watch has ended.");
        return call.ResponseStream.Current.Status;
    }

    protected static Task AllGoneAsync(CountedHealthService health) =>
        Timeouts.Eventually(() => health.Watches == 0, "nobody watches");
}
