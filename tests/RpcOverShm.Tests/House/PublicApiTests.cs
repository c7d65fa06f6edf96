using OpenTelemetry.Trace;
using RpcOverShm.Hosting;
using RpcOverShm.MessagePack;
using RpcOverShm.Protobuf;

namespace RpcOverShm.Tests.House;

/// <summary>The public API must not change by accident: the tests compare it with an approved text.</summary>
public class PublicApiTests
{
    private const string ApproveVariable = "RPCOVERSHM_APPROVE_API";

    public static IEnumerable<ShippedAssembly> Shipped =>
    [
        new(nameof(RpcOverShm), typeof(ShmChannel).Assembly.GetTypes(), "PublicApi.approved.txt"),
        new(
            "RpcOverShm.MessagePack",
            typeof(ShmMessagePackCodec).Assembly.GetTypes(),
            "PublicApi.MessagePack.approved.txt"),
        new("RpcOverShm.Protobuf", typeof(ShmFaults).Assembly.GetTypes(), "PublicApi.Protobuf.approved.txt"),
        new(
            "RpcOverShm.Hosting",
            typeof(ShmServerBuilder).Assembly.GetTypes(),
            "PublicApi.Hosting.approved.txt"),
        new(
            "RpcOverShm.OpenTelemetry",
            typeof(ShmTracerProviderBuilderExtensions).Assembly.GetTypes(),
            "PublicApi.OpenTelemetry.approved.txt"),
    ];

    [TestCaseSource(nameof(Shipped))]
    public void Api_ComparedWithTheApproved_IsTheSame(ShippedAssembly shipped)
    {
        string approved = Repository.FullPath($"tests/RpcOverShm.Tests/House/{shipped.ApprovedFile}");
        string actual = ApiText.Of(shipped.Types);
        if (Environment.GetEnvironmentVariable(ApproveVariable) == "1")
        {
            File.WriteAllText(approved, actual);
        }

        Assert.That(actual, Is.EqualTo(File.ReadAllText(approved)), $"""
            The public API is not the approved one. If that is meant, approve it, look at the difference, and commit it
            with a line in CHANGELOG.md:
            {ApproveVariable}=1 dotnet test -c Release tests/RpcOverShm.Tests --filter FullyQualifiedName~PublicApiTests
            """);
    }

    [TestCaseSource(nameof(Shipped))]
    public void Types_ThatArePublic_BeginWithShmAndStandAtTheRootOrWithWhatTheyExtend(ShippedAssembly shipped) =>
        Findings.AssertNone(ApiRules.Misnamed(shipped.Types, shipped.Name));

    [TestCaseSource(nameof(Shipped))]
    public void Fields_ThatArePublic_CannotBeChanged(ShippedAssembly shipped) =>
        Findings.AssertNone(ApiRules.MutableFields(shipped.Types));

    [Test]
    public void ApiText_OfEveryKindOfMember_IsAsInCSharp() => Assert.That(
        ApiText.Of([typeof(ApiSamples.Kinds<>), typeof(ApiRules)]),
        Is.EqualTo("""
            abstract class RpcOverShm.Tests.House.ApiSamples.Kinds<T> : IDisposable where T : class
                abstract Lazy<T?> Find(Tuple<string?> key, bool isExact = true, DayOfWeek day = DayOfWeek.Monday)
                const int Limit = 7
                event EventHandler? Rang
                int Mutable
                long Length { get; init; }
                override string ToString()
                protected .ctor(string? name = null, System.Threading.CancellationToken token = default)
                static readonly string Word
                string? Name { get; protected set; }
                virtual bool TryTake(in Guid key, out T[]? taken)
                void Dispose()

            """));

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
