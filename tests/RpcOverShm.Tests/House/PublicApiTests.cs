using OpenTelemetry.Trace;
using RpcOverShm.Hosting;
using RpcOverShm.MessagePack;
using RpcOverShm.Protobuf;

namespace RpcOverShm.Tests.House;

/// <summary>Rules of the public API. What it is stands in each project's PublicAPI.Unshipped.txt.</summary>
public class PublicApiTests
{
    public static IEnumerable<ShippedAssembly> Shipped =>
    [
        new(nameof(RpcOverShm), typeof(ShmChannel).Assembly.GetTypes()),
        new("RpcOverShm.MessagePack", typeof(ShmMessagePackCodec).Assembly.GetTypes()),
        new("RpcOverShm.Protobuf", typeof(ShmFaults).Assembly.GetTypes()),
        new("RpcOverShm.Hosting", typeof(ShmServerBuilder).Assembly.GetTypes()),
        new("RpcOverShm.OpenTelemetry", typeof(ShmTracerProviderBuilderExtensions).Assembly.GetTypes()),
    ];

    [TestCaseSource(nameof(Shipped))]
    public void Types_ThatArePublic_BeginWithShmAndStandAtTheRootOrWithWhatTheyExtend(ShippedAssembly shipped) =>
        Findings.AssertNone(ApiRules.Misnamed(shipped.Types, shipped.Name));

    [TestCaseSource(nameof(Shipped))]
    public void Fields_ThatArePublic_CannotBeChanged(ShippedAssembly shipped) =>
        Findings.AssertNone(ApiRules.MutableFields(shipped.Types));

    [Test]
    public void ApiRules_OfBadTypes_FindThem()
    {
        Assert.That(ApiRules.Misnamed([typeof(ApiSamples)], nameof(RpcOverShm)), Has.One.Contains("ApiSamples"));
        Assert.That(ApiRules.Misnamed([typeof(ApiRules)], nameof(RpcOverShm)), Is.Empty, "It is internal.");
        Assert.That(
            ApiRules.Misnamed([typeof(ShmApiSampleExtensions)], nameof(RpcOverShm)), Has.One.Contains("in System."));
        Assert.That(
            ApiRules.MutableFields([typeof(ApiSamples.Kinds<>)]), Has.Exactly(1).Items.And.All.Contains(".Mutable"));
    }
}

/// <summary>
/// An assembly that users compile against: its name, which is also its root namespace, and its types.
/// </summary>
public sealed record ShippedAssembly(string Name, IReadOnlyList<Type> Types)
{
    public override string ToString() => Name;
}
