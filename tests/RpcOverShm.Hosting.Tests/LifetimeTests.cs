using Grpc.Core;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;

namespace RpcOverShm.Hosting.Tests;

/// <summary>The instances of services that the container activates, and their scopes.</summary>
public class LifetimeTests : HostFixture
{
    private const int CreationFailed = 320;

    [Test]
    public async Task PerCall_OfAnUnregisteredClass_HasAScopeForEachCall()
    {
        Host.Services.AddScoped<Part>();
        Host.Services.AddShmServer(Host.Address).AddService<NumberedService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("2"));

        await Host.Diary.Until("part 2 disposed");
        Assert.That(
            Host.Diary.Entries,
            Is.EqualTo(new[] { "service 1 disposed", "part 1 disposed", "service 2 disposed", "part 2 disposed" }));
    }

    [Test]
    public async Task PerCall_OfARegisteredClass_IsTheRegisteredOneAndDisposedByTheContainer()
    {
        Host.Services.AddSingleton<Part>().AddSingleton<NumberedService>();
        Host.Services.AddShmServer(Host.Address).AddService<NumberedService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(Host.Diary.Entries, Is.Empty);
    }

    [Test]
    public async Task PerSession_OfTwoChannels_HasAScopeForEach()
    {
        Host.Services.AddScoped<Part>();
        Host.Services.AddShmServer(Host.Address)
            .AddService<NumberedService>(options => options.Lifetime = ShmServiceLifetime.PerSession);
        await Host.StartAsync();
        using ShmChannel other = Host.Open();
        using (ShmChannel channel = Host.Open())
        {
            Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
            Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
            Assert.That(await other.AskAsync().Bounded(), Is.EqualTo("2"));
            Assert.That(Host.Diary.Entries, Is.Empty);
        }

        await Host.Diary.Until("part 1 disposed");
        Assert.That(Host.Diary.Entries, Is.EqualTo(new[] { "service 1 disposed", "part 1 disposed" }));
    }

    [Test]
    public async Task Singleton_OfAnUnregisteredClass_ComesFromTheContainerAndIsDisposedAtTheStop()
    {
        Host.Services.AddSingleton<Part>();
        Host.Services.AddShmServer(Host.Address)
            .AddService<NumberedService>(options => options.Lifetime = ShmServiceLifetime.Singleton);
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();
        using ShmChannel other = Host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await other.AskAsync().Bounded(), Is.EqualTo("1"));

        await Host.StopAsync().Bounded();
        await Host.Diary.Until("service 1 disposed");
    }

    [Test]
    public async Task Lifetime_OfTheConfiguration_IsReadByItsName()
    {
        Host.Services.AddScoped<Part>();
        IConfigurationSection section = Host.Section(("Lifetime", "perSession"));
        Host.Services.AddShmServer(Host.Address).AddService<NumberedService>(options => section.Bind(options));
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
    }

    [Test]
    public async Task PerCall_WhoseConstructorThrowsOnce_FailsThatCallWithInternalAndIsLogged()
    {
        Host.Log.Expect(CreationFailed);
        Host.Services.AddScoped<Part>();
        Host.Services.AddShmServer(Host.Address).AddService<FailingOnceService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        RpcException? failure = Assert.CatchAsync<RpcException>(() => channel.AskAsync().Bounded());
        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.Internal));
        LogEntry entry = await Host.Log.WaitForAsync(CreationFailed);
        Assert.That(entry.Exception, Has.Message.EqualTo("The first one fails."));

        // Its scope has made a part, which is disposed all the same.
        await Host.Diary.Until("part 1 disposed");
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("2"));
    }

    [Test]
    public async Task Service_ByItsDefinition_IsServed()
    {
        Host.Services.AddShmServer(Host.Address)
            .AddService(_ => Testing.Protos.Conformance.BindService(new ConformanceService()));
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.Empty);
    }

    [Test]
    public async Task TwoServers_InOneHost_HaveServicesOfTheirOwn()
    {
        string other = $"shm://{UniqueName.Next()}";
        Host.Methods.Echo = (_, _) => Task.FromResult("first");
        Host.Services.AddShmServer(Host.Address).AddService<TestService>();
        Host.Services.AddSingleton<Part>();
        Host.Services.AddShmServer("other", other).AddService<NumberedService>();
        await Host.StartAsync();
        using ShmChannel first = Host.Open();
        using ShmChannel second = Host.Open(other);

        Assert.That(await first.AskAsync().Bounded(), Is.EqualTo("first"));
        Assert.That(await second.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(Host.Server.Address, Is.EqualTo(Host.Address));
        Assert.That(Host.Provider.GetRequiredKeyedService<ShmServer>("other").Address, Is.EqualTo(other));
    }

    private sealed class FailingOnceService : Testing.Protos.Conformance.ConformanceBase
    {
        private readonly Part _part;

        public FailingOnceService(Part part)
        {
            _part = part;
            if (part.Number == 1)
            {
                throw new InvalidOperationException("The first one fails.");
            }
        }

        public override Task<Testing.Protos.Payload> Echo(
            Testing.Protos.Payload request, ServerCallContext context) =>
            Task.FromResult(Answer.Of($"{_part.Number}"));
    }
}
