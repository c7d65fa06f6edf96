using Grpc.Core;
using Microsoft.Extensions.DependencyInjection;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Hosting.Tests;

/// <summary>The interceptors of a server that the container activates.</summary>
public class InterceptorTests
{
    private const string Echo = "/rpcovershm.testing.Conformance/Echo";

    private TestHost _host = null!;

    [SetUp]
    public void CreateHost() => _host = new TestHost();

    [TearDown]
    public async Task DisposeHost() => await _host.DisposeAsync();

    [Test]
    public async Task Unregistered_InOneCall_RunInOrderInTheScopeOfTheService()
    {
        _host.Services.AddScoped<Part>();
        _host.Services.AddShmServer(_host.Address)
            .AddInterceptor<NotingInterceptor>()
            .AddInterceptor<InnerInterceptor>()
            .AddService<NumberedService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        await _host.Diary.Until("part 1 disposed");

        Assert.That(_host.Diary.Entries, Is.EqualTo(new[]
        {
            $"NotingInterceptor 1 begins {Echo}",
            $"InnerInterceptor 1 begins {Echo}",
            "service 1 disposed",
            "InnerInterceptor 1 ends",
            "NotingInterceptor 1 ends",
            "InnerInterceptor 1 disposed",
            "NotingInterceptor 1 disposed",
            "part 1 disposed",
        }));
    }

    [Test]
    public async Task Unregistered_InTwoCalls_AreNewForEach()
    {
        _host.Services.AddScoped<Part>();
        _host.Services.AddShmServer(_host.Address).AddInterceptor<NotingInterceptor>().AddService<NumberedService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("2"));
    }

    [Test]
    public async Task Singletons_InTwoCalls_AreTheSameAndServicesHaveScopesOfTheirOwn()
    {
        _host.Services.AddTransient<Part>().AddSingleton<NotingInterceptor>();
        _host.Services.AddShmServer(_host.Address).AddInterceptor<NotingInterceptor>().AddService<NumberedService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("2"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("3"));
        Assert.That(_host.Diary.Entries, Has.Exactly(2).EqualTo($"NotingInterceptor 1 begins {Echo}"));
    }

    [Test]
    public async Task Interceptor_OfOneService_RunsForThatServiceOnly()
    {
        _host.Services.AddScoped<Part>();
        _host.Services.AddShmServer(_host.Address)
            .AddInterceptor<NotingInterceptor>()
            .AddInterceptor<InnerInterceptor, RecordsService>()
            .AddService<TestService>()
            .AddService<RecordsService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        await channel.AskAsync().Bounded();
        Assert.That(_host.Diary.Entries, Has.None.StartsWith("Inner"));
        await new Records.RecordsClient(channel).EchoTinyAsync(new TinyRecord()).ResponseAsync.Bounded();
        Assert.That(_host.Diary.Entries, Has.One.StartsWith("InnerInterceptor 2 begins"));
    }

    [Test]
    public async Task Interceptor_ThatRefusesACall_KeepsTheInnerOnesFromBeingMade()
    {
        _host.Services.AddScoped<Part>();
        _host.Services.AddShmServer(_host.Address)
            .AddInterceptor<RefusingInterceptor>()
            .AddInterceptor<NotingInterceptor>()
            .AddService<NumberedService>();
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        RpcException? failure = Assert.CatchAsync<RpcException>(() => channel.AskAsync().Bounded());

        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.PermissionDenied));
        Assert.That(_host.Diary.NextNumber(), Is.EqualTo(1), "No part was made.");
    }

    [Test]
    public async Task Interceptors_OfAStreamingMethod_RunAroundIt()
    {
        _host.Services.AddScoped<Part>();
        _host.Services.AddShmServer(_host.Address)
            .AddInterceptor<NotingInterceptor>()
            .AddService(_ => Conformance.BindService(new ConformanceService()));
        await _host.StartAsync();
        using ShmChannel channel = _host.Open();

        using var call = new Conformance.ConformanceClient(channel).EchoAll();
        await call.RequestStream.WriteAsync(Answer.Of("one"));
        await call.RequestStream.CompleteAsync();
        Assert.That(await call.ResponseStream.MoveNext().Bounded(), Is.True);
        Assert.That(await call.ResponseStream.MoveNext().Bounded(), Is.False);

        await _host.Diary.Until("part 1 disposed");
        Assert.That(_host.Diary.Entries, Has.One.EqualTo("NotingInterceptor 1 ends"));
    }

    private sealed class RefusingInterceptor : Grpc.Core.Interceptors.Interceptor
    {
        public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
            TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation) =>
            throw new RpcException(new Status(StatusCode.PermissionDenied, "No."));
    }
}
