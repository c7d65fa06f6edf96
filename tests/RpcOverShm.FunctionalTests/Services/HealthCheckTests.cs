using Grpc.Core;
using Grpc.Health.V1;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Services;
using RpcOverShm.Testing;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.FunctionalTests.Services;

/// <summary>Asking once how services are.</summary>
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
        var health = new ShmHealthService();
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
        ShmHealthService health = ServiceWith(ServingStatus.Serving);
        health.SetStatus("", ServingStatus.Serving);
        Health.HealthClient client = await StartAsync(health);

        health.ClearAll();

        Assert.That((await FailureOf(CheckAsync(client, ""))).StatusCode, Is.EqualTo(StatusCode.NotFound));
        Assert.That((await FailureOf(CheckAsync(client, Service))).StatusCode, Is.EqualTo(StatusCode.NotFound));
    }

    [Test]
    public async Task List_OfSomeServices_IsTheirStatuses()
    {
        ShmHealthService health = ServiceWith(ServingStatus.NotServing);
        health.SetStatus("", ServingStatus.Serving);
        Health.HealthClient client = await StartAsync(health);

        HealthListResponse list = await client.ListAsync(new HealthListRequest()).ResponseAsync.Bounded();

        Assert.That(
            list.Statuses.Select(entry => (entry.Key, entry.Value.Status)),
            Is.EquivalentTo(new[] { ("", ServingStatus.Serving), (Service, ServingStatus.NotServing) }));
    }

    [Test]
    public async Task List_OfMoreThanAHundred_IsResourceExhausted()
    {
        var health = new ShmHealthService();
        Health.HealthClient client = await StartAsync(health);
        for (int i = 0; i < 100; i++)
        {
            health.SetStatus($"service {i}", ServingStatus.Serving);
        }

        HealthListResponse hundred = await client.ListAsync(new HealthListRequest()).ResponseAsync.Bounded();
        health.SetStatus("one more", ServingStatus.Serving);
        RpcException failure = await FailureOf(client.ListAsync(new HealthListRequest()).ResponseAsync);

        Assert.That(hundred.Statuses, Has.Count.EqualTo(100));
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public void Service_ThatIsNull_Throws()
    {
        var health = new ShmHealthService();

        Assert.That(() => health.SetStatus(null!, ServingStatus.Serving), Throws.ArgumentNullException);
        Assert.That(() => health.ClearStatus(null!), Throws.ArgumentNullException);
    }

    private static async Task<ServingStatus> CheckAsync(Health.HealthClient client, string service) =>
        (await client.CheckAsync(new HealthCheckRequest { Service = service }).ResponseAsync.Bounded()).Status;
}
