using Grpc.Core;
using Grpc.Reflection.V1;
using Microsoft.Extensions.DependencyInjection;
using RpcOverShm.Hosting.Tests.Support;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Hosting.Tests;

/// <summary>The reflection of a hosted server.</summary>
public class ReflectionTests
{
    [Test]
    public async Task Reflection_OfServicesAndHealth_ListsThem()
    {
        await using var host = new TestHost();
        host.Services.AddShmServer(host.Address)
            .AddService<TestService>()
            .AddService(_ => Records.BindService(new RecordsService()))
            .AddHealth()
            .AddReflection(Records.Descriptor);
        await host.StartAsync();
        using ShmChannel channel = host.Open();

        using var call = new ServerReflection.ServerReflectionClient(channel).ServerReflectionInfo();
        await call.RequestStream.WriteAsync(new ServerReflectionRequest { ListServices = "" });
        Assert.That(await call.ResponseStream.MoveNext().Bounded(), Is.True);
        await call.RequestStream.CompleteAsync();

        Assert.That(
            call.ResponseStream.Current.ListServicesResponse.Service.Select(one => one.Name),
            Is.EquivalentTo(new[]
            {
                Conformance.Descriptor.FullName,
                Records.Descriptor.FullName,
                "grpc.health.v1.Health",
                "grpc.reflection.v1.ServerReflection",
            }));
        Assert.That(await call.ResponseStream.MoveNext().Bounded(), Is.False);
    }
}
