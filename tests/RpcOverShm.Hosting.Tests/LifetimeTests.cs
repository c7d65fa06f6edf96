using Grpc.Core;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;

namespace RpcOverShm.Hosting.Tests;

/// <summary>The instances of services that the container activates, and their scopes.</summary>
public class LifetimeTests
{
    private const int CreationFailed = 320;

    private TestHost _host = null!;

    [SetUp]
    public void CreateHost() => _host = new TestHost();

    [TearDown]
    public async Task DisposeHost() => await _host.DisposeAsync();

    [Test]
    public async Task PerCall_OfAnUnregisteredClass_HasAScopeForEachCall()
    {
        _host.Services.AddScoped<Part>();
        _host.Services.AddShmServer(_host.Address).AddService<NumberedService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("2"));

        await _host.Diary.Until("part 2 disposed");
        Assert.That(
            _host.Diary.Entries,
            Is.EqualTo(new[] { "service 1 disposed", "part 1 disposed", "service 2 disposed", "part 2 disposed" }));
    }

    [Test]
    public async Task PerCall_OfARegisteredClass_IsTheRegisteredOneAndDisposedByTheContainer()
    {
        _host.Services.AddSingleton<Part>().AddSingleton<NumberedService>();
        _host.Services.AddShmServer(_host.Address).AddService<NumberedService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(_host.Diary.Entries, Is.Empty);
    }

    [Test]
    public async Task PerSession_OfTwoChannels_HasAScopeForEach()
    {
        _host.Services.AddScoped<Part>();
        _host.Services.AddShmServer(_host.Address)
            .AddService<NumberedService>(options => options.Lifetime = ShmServiceLifetime.PerSession);
        await _host.StartAsync();
        using ShmChannel other = _host.Open();
        using (ShmChannel channel = _host.Open())
        {
            Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
            Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
            Assert.That(await other.AskAsync().Bounded(), Is.EqualTo("2"));
            Assert.That(_host.Diary.Entries, Is.Empty);
        }

        await _host.Diary.Until("part 1 disposed");
        Assert.That(_host.Diary.Entries, Is.EqualTo(new[] { "service 1 disposed", "part 1 disposed" }));
    }

    [Test]
    public async Task Singleton_OfAnUnregisteredClass_ComesFromTheContainerAndIsDisposedAtTheStop()
    {
        _host.Services.AddSingleton<Part>();
        _host.Services.AddShmServer(_host.Address)
            .AddService<NumberedService>(options => options.Lifetime = ShmServiceLifetime.Singleton);
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();
        using ShmChannel other = _host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await other.AskAsync().Bounded(), Is.EqualTo("1"));

        await _host.StopAsync().Bounded();
        await _host.Diary.Until("service 1 disposed");
    }

    [Test]
    public async Task Lifetime_OfTheConfiguration_IsReadByItsName()
    {
        _host.Services.AddScoped<Part>();
        IConfigurationSection section = _host.Section(("Lifetime", "perSession"));
        _host.Services.AddShmServer(_host.Address).AddService<NumberedService>(options => section.Bind(options));
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
    }

    [Test]
    public async Task PerCall_WhoseConstructorThrowsOnce_FailsThatCallWithInternalAndIsLogged()
    {
        _host.Log.Expect(CreationFailed);
        _host.Services.AddScoped<Part>();
        _host.Services.AddShmServer(_host.Address).AddService<FailingOnceService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        RpcException? failure = Assert.CatchAsync<RpcException>(() => channel.AskAsync().Bounded());
        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.Internal));
        LogEntry entry = await _host.Log.WaitForAsync(CreationFailed);
        Assert.That(entry.Exception, Has.Message.EqualTo("The first one fails."));

        // Its scope has made a part, which is disposed all the same.
        await _host.Diary.Until("part 1 disposed");
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("2"));
    }

    [Test]
    public async Task Service_ByItsDefinition_IsServed()
    {
        _host.Services.AddShmServer(_host.Address)
            .AddService(_ => Testing.Protos.Conformance.BindService(new ConformanceService()));
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.Empty);
    }

    [Test]
    public async Task TwoServers_InOneHost_HaveServicesOfTheirOwn()
    {
        string other = $"shm://{UniqueName.Next()}";
        _host.Methods.Echo = (_, _) => Task.FromResult("first");
        _host.Services.AddShmServer(_host.Address).AddService<TestService>();
        _host.Services.AddSingleton<Part>();
        _host.Services.AddShmServer("other", other).AddService<NumberedService>();
        await _host.StartAsync();
        using ShmChannel first = _host.Open();
        using ShmChannel second = _host.Open(other);

        Assert.That(await first.AskAsync().Bounded(), Is.EqualTo("first"));
        Assert.That(await second.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(_host.Server.Address, Is.EqualTo(_host.Address));
        Assert.That(_host.Provider.GetRequiredKeyedService<ShmServer>("other").Address, Is.EqualTo(other));
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
