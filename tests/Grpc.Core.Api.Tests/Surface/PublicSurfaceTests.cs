using RpcOverShm.Testing.Surface;

namespace Grpc.Core.Api.Tests.Surface;

/// <summary>The stand-in shows exactly what the package shows: nothing is missing, nothing is added.</summary>
public class PublicSurfaceTests
{
    private static readonly string[] s_expected = ReadSignatureList();
    private static readonly string[] s_actual = [.. SurfaceDump.Lines(typeof(Metadata).Assembly)];

    [Test]
    public void StandIn_ComparedWithThePackage_MissesNothing()
    {
        Assert.That(s_expected.Except(s_actual), Is.Empty);
    }

    [Test]
    public void StandIn_ComparedWithThePackage_AddsNothing()
    {
        Assert.That(s_actual.Except(s_expected), Is.Empty);
    }

    [Test]
    public void SignatureList_Read_HasEveryLineOnce()
    {
        Assert.That(s_expected, Has.Length.GreaterThan(300).And.Unique);
    }

    [Test]
    public void Dump_OfStandIn_HasEveryLineOnce()
    {
        Assert.That(s_actual, Is.Unique);
    }

    private static string[] ReadSignatureList()
    {
        using var stream = typeof(PublicSurfaceTests).Assembly.GetManifestResourceStream("Grpc.Core.Api.txt")!;
        using var reader = new StreamReader(stream);
        var lines = reader.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries);
        return [.. lines.Where(line => line[0] != '#')];
    }
}
