using Grpc.Core;
using RpcOverShm.Testing;
using static RpcOverShm.MessagePack.Tests.Objects.RuleSamples;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>The codec's rules as seen by users of a channel and a server.</summary>
internal sealed class RuleCallTests
{
    [Test]
    public async Task TypeThatIsRefused_StopsTheServerFromStartingAndTheCallFromBeingMade()
    {
        const string Expected = ".Held holds System.Type, which is written with the names of types";
        await using ShmServer refused = PackedServer.Make(Service<Holder<Type>>(_ => { }));
        await using ShmServer server = PackedServer.Make(Service<Dog>(_ => { }));
        await server.StartAsync();
        using ShmChannel channel = PackedServer.Open(server, ShmMessagePackCodec.Instance);

        Assert.That(
            () => refused.StartAsync(), Throws.InstanceOf<NotSupportedException>().With.Message.Contains(Expected));
        Assert.That(
            () => Call(channel, new Holder<Type>(null)),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains(Expected));
    }

    [Test]
    public async Task NullAndLostClass_FailOnTheClientWithASentence()
    {
        int served = 0;
        await using ShmServer server = PackedServer.Make(Service<Animal>(_ => served++));
        server.Services.Add(Service<Dog>(_ => served++));
        await server.StartAsync();
        using ShmChannel channel = PackedServer.Open(server, ShmMessagePackCodec.Instance);

        AssertFails(channel, new Dog(4, null!), $"{typeof(Dog)}.Name is null, and its declaration does not");
        AssertFails<Dog>(channel, null!, "The message is null where a");
        AssertFails<Animal>(channel, new Dog(4, "n"), "[Union(0, typeof(Dog))]");
        Assert.That(served, Is.Zero);
        Assert.That((await Call(channel, new Dog(4, "n")).Bounded()).Legs, Is.EqualTo(4));
        Assert.That(served, Is.EqualTo(1));
    }

    private static void AssertFails<T>(ShmChannel channel, T request, string expected)
        where T : class
    {
        RpcException failure = Assert.CatchAsync<RpcException>(() => Call(channel, request).Bounded())!;

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail.Split(expected), Has.Length.EqualTo(2), failure.Status.Detail);
        Assert.That(failure.Status.Detail, Does.Not.Contain("Failed to serialize"));
    }

    private static Task<T> Call<T>(ShmChannel channel, T request)
        where T : class =>
        channel.CreateCallInvoker().AsyncUnaryCall(Echo<T>(), host: null, new CallOptions(), request).ResponseAsync;

    private static ServerServiceDefinition Service<T>(Action<T> serve)
        where T : class => ServerServiceDefinition.CreateBuilder()
            .AddMethod(Echo<T>(), (request, _) =>
            {
                serve(request);
                return Task.FromResult(request);
            }).Build();

    private static Method<T, T> Echo<T>()
        where T : class => ShmMethod.Unary<T, T>(typeof(T).Name, "Echo");
}
