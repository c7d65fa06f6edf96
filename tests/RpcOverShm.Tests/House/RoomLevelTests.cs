namespace RpcOverShm.Tests.House;

/// <summary>
/// Rooms have levels, and a room may only use lower ones. A test compares the enforced table with that of
/// src/ARCHITECTURE.md.
/// </summary>
public class RoomLevelTests
{
    private const string Folder = "src/RpcOverShm";

    private static readonly string[] s_roomsWithoutCycles = ["Links", "Streams", "Connections"];

    private static readonly RoomRules s_rules = new(RoomTable.Enforced, Folder, [.. Repository.Sources(Folder)]);

    [Test]
    public void Document_ComparedWithTheEnforcedTable_SaysTheSame() => Assert.That(
        RoomTable.Parse(Repository.Read("src/ARCHITECTURE.md").Text).Describe(),
        Is.EqualTo(RoomTable.Enforced.Describe()));

    [Test]
    public void Table_EveryArrow_PointsToALowerLevel() => Findings.AssertNone(RoomTable.Enforced.Misdirected());

    [Test]
    public void Folders_OfTheRuntime_AreTheRoomsOfTheTable() => Findings.AssertNone(s_rules.UnknownRooms());

    [Test]
    public void Names_InARoom_AreOfRoomsItMayUse() => Findings.AssertNone(s_rules.ForbiddenReferences());

    [Test]
    public void UnsafeCode_OfTheRuntime_StandsInItsRoomsOnly() => Findings.AssertNone(s_rules.ForbiddenUnsafeCode());

    [Test]
    public void Usings_OfTheRuntime_AreNeverGlobal() => Findings.AssertNone(s_rules.GlobalUsings());

    [Test]
    public void Files_OfSrcTestsAndPerf_HaveTheirFoldersNamespaceAndOneTypeOfTheirName() =>
        Findings.AssertNone(Repository.Sources("src", "tests", "perf").SelectMany(FileShape.Check));

    [Test]
    public void Misdirected_OfSiblings_IsFound()
    {
        RoomTable table = RoomTable.Parse(
            """
            ## Rooms
            ```
            1  Rings   Signals   words about them
            0  Segments
            ```
            | room | may use | holds |
            |---|---|---|
            | Segments | - | memory |
            | Rings, Signals | Segments, Rings | records |
            `unsafe` occurs in Segments and Rings only.
            """);

        Assert.That(table.Misdirected(), Is.EqualTo(new[]
        {
            "Rings (level 1) may use Rings (level 1)", "Signals (level 1) may use Rings (level 1)",
        }));
        Assert.That(table.MayBeUnsafe, Is.EqualTo(new[] { "Segments", "Rings" }));
        Assert.That(table.Describe(), Has.Length.EqualTo(12).And.Not.EqualTo(RoomTable.Enforced.Describe()));
    }

    [TestCase("using RpcOverShm.Connections;", "Connections")]
    [TestCase("using Alias = RpcOverShm.Signals.Bell;", "Signals")]
    [TestCase("using static RpcOverShm.Protocol.Bell;", "Protocol")]
    [TestCase("class Ring { Signals.Bell _bell; }", "Signals")]
    [TestCase("class Ring { object _bell = RpcOverShm.Signals.Bell.Create(); }", "Signals")]
    [TestCase("class Ring { ShmFront _front; }", "root")]
    [TestCase("class Ring { List<ShmFront> _fronts; }", "root")]
    public void ForbiddenReferences_OfARing_FindsTheRoom(string code, string room) => Assert.That(
        RulesWith("Rings", code).ForbiddenReferences(), Has.Some.Contains($"Rings may not name {room}:"));

    [TestCase("using System; using RpcOverShm.Segments; using RpcOverShm.Diagnostics;")]
    [TestCase("class Ring { int Signals; int Half() => Signals.Bellow(); }")]
    [TestCase("class Ring { string _text = \"ShmFront\"; } // ShmFront")]
    public void ForbiddenReferences_OfWhatARingMayName_AreNone(string code) =>
        Assert.That(RulesWith("Rings", code).ForbiddenReferences(), Is.Empty);

    [Test]
    public void OtherRules_OfABadFile_FindIt()
    {
        RoomRules rules = RulesWith("Calls", "global using System; unsafe class Call { }");

        Assert.That(rules.ForbiddenUnsafeCode(), Has.One.Contains("Calls may not be unsafe"));
        Assert.That(rules.GlobalUsings(), Has.One.Contains("global using"));
        Assert.That(
            RulesWith("Cellar", "").UnknownRooms(), Has.One.Contains("Cellar").And.Some.Contains("no room Rings"));
    }

    [TestCase("tests/Some.Tests/Rings/A.cs", "namespace Some.Tests.Rings; class A;", null)]
    [TestCase("tests/Some.Tests/A.Part.cs", "namespace Some.Tests; class A { enum B; }", null)]
    [TestCase("tests/Some.Tests/Rings/A.cs", "namespace Some.Tests; class A;", "the folder says Some.Tests.Rings")]
    [TestCase("tests/Some.Tests/A.cs", "namespace Some.Tests { class A; enum B; }", null)]
    [TestCase("tests/Some.Tests/A.cs", "namespace Some.Tests { enum B; class A; }", "The first type is called B")]
    [TestCase("tests/Some.Tests/A.cs", "namespace Some.Tests; delegate void B();", "called B")]
    [TestCase("src/Some/A.cs", "namespace Other; public static class A { public static void B(this C c) { } }", null)]
    [TestCase("src/Some/A.cs", "namespace Other; static class A { public static void B(this C c) { } }", "Some")]
    [TestCase("src/Some/A.cs", "namespace Other; public static class A { public static void B(C c) { } }", "Some")]
    public void FileShape_OfAFile_FindsWhatIsOutOfPlace(string path, string code, string? finding)
    {
        IEnumerable<string> findings = FileShape.Check(new SourceFile(path, code));

        Assert.That(findings, finding is null ? Is.Empty : Has.One.Contains(finding));
    }

    [Test]
    public void FileShape_OfALargeSecondType_FindsIt()
    {
        string code = $"namespace Some.Tests;\nclass A;\nclass B\n{{{new string('\n', FileShape.SmallTypeLines)}}}";

        Assert.That(
            FileShape.Check(new SourceFile("tests/Some.Tests/A.cs", code)),
            Has.One.Contains("it needs a file of its own"));
    }

    [Test]
    public void ClassCycles_OfSomeRooms_AreNone() => Findings.AssertNone(ClassCycles.Find(
    [
        .. Repository.Sources(Folder).Where(file => s_roomsWithoutCycles.Any(
            room => file.Folder == $"{Folder}/{room}")),
    ]));

    [Test]
    public void ClassCycles_OfThreeFiles_FindsTheWayBack()
    {
        IEnumerable<string> findings = ClassCycles.Find(
        [
            new SourceFile("a/A.cs", "class A { B _b; }"),
            new SourceFile("a/B.cs", "class B { void M() => C.Run(); }"),
            new SourceFile("a/C.Part.cs", "class C { List<A> _a; static void Run() { } }"),
            new SourceFile("a/D.cs", "class D { A _a; D _d; }"),
        ]);

        Assert.That(findings.Count(), Is.EqualTo(3));
        Assert.That(findings, Has.Some.Contains("A needs B needs C needs A: a cycle."));
    }

    private static RoomRules RulesWith(string room, string code) => new(
        RoomTable.Enforced,
        Folder,
        [
            new SourceFile($"{Folder}/{room}/Subject.cs", code),
            new SourceFile($"{Folder}/Signals/Bell.cs", "namespace RpcOverShm.Signals; class Bell { }"),
            new SourceFile($"{Folder}/ShmFront.cs", "namespace RpcOverShm; class ShmFront { }"),
        ]);
}
