using Grpc.Core;
using Microsoft.Extensions.DependencyInjection;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Hosting.Tests;

/// <summary>The interceptors of a server that the container activates.</summary>
public class InterceptorTests : HostFixture
{
    private const string Echo = "/rpcovershm.testing.Conformance/Echo";

    [Test]
    public async Task Unregistered_InOneCall_RunInOrderInTheScopeOfTheService()
    {
        Host.Services.AddScoped<Part>();
        Host.Services.AddShmServer(Host.Address)
            .AddInterceptor<NotingInterceptor>()
            .AddInterceptor<InnerInterceptor>()
            .AddService<NumberedService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        await Host.Diary.Until("part 1 disposed");

        Assert.That(Host.Diary.Entries, Is.EqualTo(new[]
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
        Host.Services.AddScoped<Part>();
        Host.Services.AddShmServer(Host.Address).AddInterceptor<NotingInterceptor>().AddService<NumberedService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("1"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("2"));
    }

    [Test]
    public async Task Singletons_InTwoCalls_AreTheSameAndServicesHaveScopesOfTheirOwn()
    {
        Host.Services.AddTransient<Part>().AddSingleton<NotingInterceptor>();
        Host.Services.AddShmServer(Host.Address).AddInterceptor<NotingInterceptor>().AddService<NumberedService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("2"));
        Assert.That(await channel.AskAsync().Bounded(), Is.EqualTo("3"));
        Assert.That(Host.Diary.Entries, Has.Exactly(2).EqualTo($"NotingInterceptor 1 begins {Echo}"));
    }

    [Test]
    public async Task Interceptor_OfOneService_RunsForThatServiceOnly()
    {
        Host.Services.AddScoped<Part>();
        Host.Services.AddShmServer(Host.Address)
            .AddInterceptor<NotingInterceptor>()
            .AddInterceptor<InnerInterceptor, RecordsService>()
            .AddService<TestService>()
            .AddService<RecordsService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        await channel.AskAsync().Bounded();
        Assert.That(Host.Diary.Entries, Has.None.StartsWith("Inner"));
        await new Records.RecordsClient(channel).EchoTinyAsync(new TinyRecord()).ResponseAsync.Bounded();
        Assert.That(Host.Diary.Entries, Has.One.StartsWith("InnerInterceptor 2 begins"));
    }

    [Test]
    public async Task Interceptor_ThatRefusesACall_KeepsTheInnerOnesFromBeingMade()
    {
        Host.Services.AddScoped<Part>();
        Host.Services.AddShmServer(Host.Address)
            .AddInterceptor<RefusingInterceptor>()
            .AddInterceptor<NotingInterceptor>()
            .AddService<NumberedService>();
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        RpcException? failure = Assert.CatchAsync<RpcException>(() => channel.AskAsync().Bounded());

        Assert.That(failure!.StatusCode, Is.EqualTo(StatusCode.PermissionDenied));
        Assert.That(Host.Diary.NextNumber(), Is.EqualTo(1), "No part was made.");
    }

    [Test]
    public async Task Interceptors_OfAStreamingMethod_RunAroundIt()
    {
        Host.Services.AddScoped<Part>();
        Host.Services.AddShmServer(Host.Address)
            .AddInterceptor<NotingInterceptor>()
            .AddService(_ => Conformance.BindService(new ConformanceService()));
        await Host.StartAsync();
        using ShmChannel channel = Host.Open();

        using var call = new Conformance.ConformanceClient(channel).EchoAll();
        await call.RequestStream.WriteAsync(Answer.Of("one"));
        await call.RequestStream.CompleteAsync();
        Assert.That(await call.ResponseStream.MoveNext().Bounded(), Is.True);
        Assert.That(await call.ResponseStream.MoveNext().Bounded(), Is.False);

        await Host.Diary.Until("part 1 disposed");
        Assert.That(Host.Diary.Entries, Has.One.EqualTo("NotingInterceptor 1 ends"));
    }

    private sealed class RefusingInterceptor : Grpc.Core.Interceptors.Interceptor
    {
        public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
            TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation) =>
            throw new RpcException(new Status(StatusCode.PermissionDenied, "No."));
    }
}
