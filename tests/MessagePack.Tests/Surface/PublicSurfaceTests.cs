using System.Reflection;
using RpcOverShm.Testing.Surface;

namespace MessagePack.Tests.Surface;

/// <summary>
/// The stand-in shows what the package shows, as far as the list goes; what it adds is named here with its reason.
/// </summary>
public class PublicSurfaceTests
{
    private const string NoteMark = "  // ";

    private static readonly string[] s_list = ReadSignatureList();
    private static readonly string[] s_actual = [.. SurfaceAssemblies.All.SelectMany(SurfaceDump.Lines).Select(Bare)];

    // The list says of options that they have such a pool, but not what it is.
    private static readonly string[] s_unlistedMembersOfThePackage =
    [
        "MessagePack.SequencePool :: public class",
        "MessagePack.SequencePool : public SequencePool()",
        "MessagePack.SequencePool : public SequencePool(int maxSize)",
        "MessagePack.SequencePool : public SequencePool(int maxSize, System.Buffers.ArrayPool<byte> arrayPool)",
    ];

    private static IEnumerable<string> NotedLines => s_list.Where(line => line.Contains(NoteMark));

    [Test]
    public void Surface_ComparedWithTheList_MissesNothing()
    {
        Assert.That(s_list.Select(Bare).Except(s_actual), Is.Empty);
    }

    [Test]
    public void StandIn_ComparedWithTheList_AddsNothing()
    {
        Assume.That(SurfaceAssemblies.AreThePackages, Is.False, "The package has far more than the list.");

        Assert.That(s_actual.Except(s_list.Select(Bare)), Is.EquivalentTo(s_unlistedMembersOfThePackage));
    }

    [TestCaseSource(nameof(NotedLines))]
    public void Attributes_ThatTheListNotes_AreThere(string line)
    {
        string type = line.Split(" : ")[0].Split(" :: ")[0];
        Type found = SurfaceAssemblies.All.Select(assembly => assembly.GetType(type)).First(each => each is not null)!;
        MemberInfo noted = line.Contains(" :: ")
            ? found
            : found.GetConstructors(BindingFlags.Instance | BindingFlags.NonPublic).Single();

        Assert.That(SurfaceNotes.Of(noted), Is.EqualTo(line[(line.IndexOf(NoteMark) + NoteMark.Length)..]));
    }

    [Test]
    public void SignatureList_Read_HasEveryLineOnce()
    {
        Assert.That(s_list, Has.Length.GreaterThan(300).And.Unique);
    }

    [Test]
    public void Dump_OfTheAssemblies_HasEveryLineOnce()
    {
        Assert.That(s_actual, Is.Unique);
    }

    private static string Bare(string line) => line.Split(NoteMark)[0];

    private static string[] ReadSignatureList()
    {
        using Stream stream = typeof(PublicSurfaceTests).Assembly.GetManifestResourceStream("MessagePack.txt")!;
        using var reader = new StreamReader(stream);
        string[] lines = reader.ReadToEnd().Split('\n', StringSplitOptions.RemoveEmptyEntries);
        return [.. lines.Where(line => line[0] != '#')];
    }
}
