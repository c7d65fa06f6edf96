using Grpc.Health.V1;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

[EveryRig]
internal sealed class HealthCheckTests(RigKind kind) : HealthFixture(kind)
{
    [Test]
    public async Task Check_OfAKnownService_IsItsStatus(
        [Values(ServingStatus.Unknown, ServingStatus.Serving, ServingStatus.NotServing, ServingStatus.ServiceUnknown)]
        ServingStatus status)
    {
        Health.HealthClient client = await StartAsync(ServiceWith(status));

        Assert.That(await CheckAsync(client, Service), Is.EqualTo(status));
    }

    [TestCase("")]
    [TestCase("other")]
    [TestCase("TESTS.SERVICE")]
    public async Task Check_OfAnUnknownService_IsNotFoundWithoutDetail(string service)
    {
        Health.HealthClient client = await StartAsync(ServiceWith(ServingStatus.Serving));

        RpcException failure = await FailureOf(CheckAsync(client, service));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.NotFound, "")));
    }

    [Test]
    public async Task Check_AfterEachChange_IsTheNewStatus()
    {
        var health = new CountedHealthService();
        Health.HealthClient client = await StartAsync(health);

        health.SetStatus("", ServingStatus.Serving);
        Assert.That(await CheckAsync(client, ""), Is.EqualTo(ServingStatus.Serving));
        health.SetStatus("", ServingStatus.NotServing);
        Assert.That(await CheckAsync(client, ""), Is.EqualTo(ServingStatus.NotServing));
        health.ClearStatus("");
        Assert.That((await FailureOf(CheckAsync(client, ""))).StatusCode, Is.EqualTo(StatusCode.NotFound));
    }

    [Test]
    public async Task ClearAll_MakesEveryServiceUnknown()
    {
        CountedHealthService health = ServiceWith(ServingStatus.Serving);
        health.SetStatus("", ServingStatus.Serving);
        Health.HealthClient client = await StartAsync(health);

        health.ClearAll();

        Assert.That((await FailureOf(CheckAsync(client, ""))).StatusCode, Is.EqualTo(StatusCode.NotFound));
        Assert.That((await FailureOf(CheckAsync(client, Service))).StatusCode, Is.EqualTo(StatusCode.NotFound));
    }

    private static async Task<ServingStatus> CheckAsync(Health.HealthClient client, string service) =>
        (await client.CheckAsync(new HealthCheckRequest { Service = service }).ResponseAsync.Bounded()).Status;
}
