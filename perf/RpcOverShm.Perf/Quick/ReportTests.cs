using System.Net;
using System.Text.Json;
using System.Text.RegularExpressions;

namespace RpcOverShm.Perf.Quick;

[TestFixture]
[Category("Quick")]
public sealed class ReportTests
{
    private static readonly string[] s_reportNames =
        ["machine", "seed", "rows", "bars", "tables", "notes"];

    private static readonly string[] s_rowNames =
    [
        "scenario", "arm", "caller", "callers", "sizeBytes", "p50Us", "p99Us", "meanUs", "perSecond",
        "megabytesPerSecond", "cpuUsPerCall", "allocatedBytesPerCallClient", "allocatedBytesPerCallServer",
        "baselineArm", "ratio", "ratioLow", "ratioHigh", "variant", "replyBytes", "clients", "p90Us", "p999Us", "maxUs",
    ];

    [Test]
    public void Write_Json_HasTheNamesThatOthersRead()
    {
        using JsonDocument json = JsonDocument.Parse(MakeReport().ToJson());
        Assert.That(Names(json.RootElement), Is.EqualTo(s_reportNames));
        JsonElement row = json.RootElement.GetProperty("rows")[0];
        Assert.That(Names(row), Is.EqualTo(s_rowNames));
        Assert.That(row.GetProperty("caller").GetString(), Is.EqualTo("blocking"));
    }

    [Test]
    public void SuiteReadme_EveryArm_HasALineForTheLegend() =>
        Assert.That(
            ArmCatalog.All.Select(arm => SuiteReadme.Of(arm.Name)),
            Has.All.Matches<(string Line, string Copies)>(text => text.Line.EndsWith('.') && text.Copies.Length > 0));

    [Test]
    public void Write_Markdown_TellsRowsFactsAndNotes()
    {
        PerfReport report = MakeReport() with { Notes = ["a note"] };
        string text = MarkdownReport.Write(report, [.. report.Rows.Select(Measured)]);
        Assert.That(text, Does.Contain("### PingPong, 100 B"));
        Assert.That(text, Does.Contain("| pipe-again | blocking | 0.25 |"));
        Assert.That(text, Does.Contain("- a note"));
        Assert.That(text, Does.Contain("[PingPong](#pingpong) · "));
        Assert.That(text, Does.Contain("| seed | 42 |"));
    }

    [TestCase(9.9, false)]
    [TestCase(45, true)]
    public void Write_Markdown_SaysFirstWhetherTheMachineWasBusy(double percent, bool isBusy)
    {
        PerfReport report = MakeReport();
        report = report with { Machine = report.Machine with { OthersPercent = percent } };
        string first = MarkdownReport.Write(report, [.. report.Rows.Select(Measured)]).Split("\n## ")[1];
        Assert.That(first, Does.StartWith(isBusy ? "The machine was busy\n" : "The machine was quiet\n"));
        Assert.That(first, Does.Contain(Format.Invariant($"the processors were {percent} % busy")));
        Assert.That(first.Contains("the times are shorter"), Is.EqualTo(isBusy));
    }

    [Test]
    public void Write_Markdown_ResultsComeBeforeBars_WhichAreExplained()
    {
        PerfReport report = MakeReport() with { Bars = [MakeBar("a")] };
        string text = MarkdownReport.Write(report, [.. report.Rows.Select(Measured)]);
        Assert.That(
            text.IndexOf("\n## PingPong", StringComparison.Ordinal),
            Is.Positive.And.LessThan(text.IndexOf("\n## Bars\n", StringComparison.Ordinal)));
        Assert.That(text, Does.Contain("A bar is a goal for one figure of this run, an aim a better one."));
    }

    [Test]
    public void CpuTimes_OfAnIdleProcessor_AreNotBusy()
    {
        var before = new CpuTimes(All: 1_000, Steal: 10, Idle: 500);
        Assert.That(new CpuTimes(All: 1_200, Steal: 20, Idle: 650).BusyPercentSince(before), Is.EqualTo(25));
        Assert.That(before.BusyPercentSince(before), Is.Zero);
    }

    [Test]
    public void Write_Markdown_ABarHasTheNoiseOfItsCell()
    {
        ReportBar timed = MakeBar("a") with { Noise = new Noise(0.875, 1.25) };
        string text = MarkdownReport.Write(MakeReport() with { Bars = [timed, MakeBar("b")] }, []);
        Assert.That(text, Does.Contain("| a | 100 B | at most 4 | at most 2 |"));
        Assert.That(text, Does.Contain("(2.00 to 5.00) times | 0.875 to 1.25 | met |"));
        Assert.That(text, Does.Contain("(2.00 to 5.00) times | – | met |"));
        Assert.That(text, Does.Contain("2 of 2 are met. The interval of the pipe against itself contains 1 in 1 of 1"));
        ReportRow[] rows = [MakeRow("pipe-again", 0.9, 1.1), MakeRow("pipe-again", 1.05, 1.2) with { Clients = 2 }];
        text = MarkdownReport.Write(MakeReport() with { Bars = [timed], Rows = rows }, []);
        Assert.That(text, Does.Contain("contains 1 in 1 of 2 cells."));
        text = MarkdownReport.Write(MakeReport() with { Bars = [timed], Rows = [] }, []);
        Assert.That(text, Does.Contain("1 of 1 are met.").And.Not.Contain("contains 1 in"));
    }

    [Test]
    public void Write_Speed_ArmsThatWereNotMeasuredAreLeftOpen()
    {
        ReportRow pipe = MakeRow("pipe", 1, 1) with { P50Us = 12_345 };
        string alone = MarkdownReport.Write(MakeReport() with { Rows = [pipe] }, []);
        Assert.That(alone, Does.Contain("Measured on").And.Not.Contain("call of 100 B"));

        ReportRow product = MakeRow("shm-protobuf", 1, 1);
        PerfReport report = MakeReport() with { Rows = [product, Awaited(product), pipe, Awaited(pipe)] };
        Assert.That(
            MarkdownReport.Write(report, []),
            Does.Contain("| awaited call of 100 B, µs | 0.25 | 12,300 | – | – |")
                .And.Contain("takes 0.25 µs.")
                .And.Contain("longer elsewhere: named pipe 12,300 µs."));
        Assert.That(HtmlReport.Write(report, []), Does.Contain("width:80%").And.Not.Contain("grpc-dotnet 0"));
    }

    [Test]
    public void Write_Weakest_IsTheCellOfEachScenarioInWhichTheProductDoesWorst()
    {
        var missed = new ReportSchedule(5_000, MissedRate: true, 1, 1);
        ReportRow[] rows =
        [
            MakeRow("shm-protobuf", 0.4, 0.6) with { Ratio = 0.5 },
            MakeRow("shm-protobuf", 2, 4) with { Ratio = 3, SizeBytes = 1 << 20 },
            MakeRow("shm-payload", 1, 2) with { Ratio = 1.5, SizeBytes = 1 << 20 },
            MakeRow("grpc-dotnet-uds", 8, 9) with { Ratio = 8.5 },
            MakeRow("pipe", 1, 1) with { SizeBytes = 1 << 10, Schedule = missed },
            MakeRow("shm-protobuf", 6, 8) with { Ratio = 7, SizeBytes = 1 << 10 },
            MakeRow("pipe", 1, 1) with { Scenario = "Serialisers" },
        ];
        string text = MarkdownReport.Write(MakeReport() with { Rows = rows }, [.. rows.Select(Measured)]);
        string weakest = text.Split("\n## Where it is weakest\n")[1].Split("\n## ")[0];
        Assert.That(
            weakest.Split('\n').Where(line => line.StartsWith("| ", StringComparison.Ordinal)).Skip(1),
            Is.EqualTo((string[])["| PingPong | 1 MiB | `shm-payload` | 1.50 | 1.00 to 2.00 |"]));
        Assert.That(
            text,
            Does.Contain("| where it is weakest: calls, 1 MiB, as raw bytes, per second | 2,000,000 | – | – | – |"));
    }

    [Test]
    public void Write_Html_IsOnePageWithChartsAndBars()
    {
        string page = MakePage();
        Assert.That(page, Does.Contain("<svg viewBox").And.Contain("99th percentile"));
        Assert.That(page, Does.Contain("A &lt;figure&gt;"));
        Assert.That(page, Does.Not.Contain("<script").And.Not.Contain("http"));
        Assert.That(page, Does.Not.Contain("NaN").And.Not.Contain("∞"));
    }

    /// <summary>A narrow window shows rows as blocks, in which each value has the name of its column.</summary>
    [Test]
    public void Write_Html_EveryColumnOfEveryTableHasAName()
    {
        string page = MakePage();
        string[][] tables =
        [
            .. Regex.Matches(page, "<table class=\"[a-z]+ (head[0-9]+)\"><thead><tr>(.*?)</tr>").Select(table =>
                (string[])[
                    table.Groups[1].Value,
                    .. Regex.Matches(table.Groups[2].Value, "<th[^>]*>(.*?)</th>")
                        .Select(head => WebUtility.HtmlDecode(head.Groups[1].Value))]),
        ];
        Assert.That(tables, Has.Length.AtLeast(5));
        IEnumerable<string> wanted = tables.SelectMany(table => table.Skip(2).Select((column, i) =>
            $".{table[0]} td:nth-child({i + 2})::before{{content:\"{column}\"}}"));
        Assert.That(wanted.Where(rule => !page.Contains(rule, StringComparison.Ordinal)), Is.Empty);
    }

    [Test]
    public void Write_Html_EveryLinkLeadsSomewhere()
    {
        string page = MakePage();
        string[] anchors = [.. Regex.Matches(page, " id=\"([^\"]+)\"").Select(match => match.Groups[1].Value)];
        string[] links = [.. Regex.Matches(page, "href=\"([^\"]+)\"").Select(match => match.Groups[1].Value)];
        Assert.That(anchors, Is.Unique);
        Assert.That(links.Where(link => link[0] == '#').Select(link => link[1..]), Is.Not.Empty.And.SubsetOf(anchors));
        string folder = Path.Combine(RepositoryRoot.Path, "perf", "results");
        IEnumerable<string> files = links.Where(link => link[0] != '#').Select(link => link.Split('#')[0]);
        Assert.That(files.Select(file => Path.Combine(folder, file)).ToArray(), Is.Not.Empty.And.All.Exist);
    }

    [Test]
    public void Write_Files_AreReplacedAsAWhole()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("rpcovershm-perf-");
        try
        {
            string file = Path.Combine(folder.FullName, "latest.json");
            File.WriteAllText(file, "earlier");

            using StreamReader reader = File.OpenText(file);

            Assert.That(ReportFiles.Write(folder.FullName, MakeReport(), []), Is.Null);

            // Who reads the earlier file reads it to its end.
            Assert.That(reader.ReadToEnd(), Is.EqualTo("earlier"));

            Assert.That(File.ReadAllText(file), Does.Contain("\"seed\": 42"));
            Assert.That(
                folder.GetFiles().Select(found => found.Name),
                Is.EquivalentTo((string[])["latest.json", "latest.md", "latest.html"]));
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    // A full disk fails the write of the bytes, this device too.
    [Test]
    [Platform("Linux")]
    public void Write_Files_WithoutSpace_IsSaidAndLeavesTheEarlierOnes()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("rpcovershm-perf-");
        try
        {
            string file = Path.Combine(folder.FullName, "latest.json");
            File.WriteAllText(file, "earlier");
            File.CreateSymbolicLink(file + ".unfinished", "/dev/full");

            string? failure = ReportFiles.Write(folder.FullName, MakeReport(), []);

            Assert.That(failure, Does.StartWith("The report can't be written to").And.Contain("space"));
            Assert.That(File.ReadAllText(file), Is.EqualTo("earlier"));
            Assert.That(folder.GetFiles(), Has.Length.EqualTo(1));
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static string MakePage()
    {
        ReportRow row = MakeRow("shm-protobuf", 0.1, 0.2);
        string[] scenarios = ["PingPong", "Stream", "Serialisers"];
        ReportRow[] rows = [.. scenarios.Select(name => row with { Scenario = name }), row with { SizeBytes = 1024 }];
        PerfReport report = MakeReport() with { Bars = [MakeBar("A <figure>")], Rows = rows };
        return HtmlReport.Write(report, [.. rows.Select(Measured)]);
    }

    private static ReportRow Awaited(ReportRow row) => row with { Caller = CallerKind.Async };

    private static ReportBar MakeBar(string figure) =>
        new(figure, "100 B", "at most 4", "at most 2", 3, 2, 5, "times", true, false);

    private static MeasuredRow Measured(ReportRow row) => new()
    {
        Row = row,
        Cell = Format.Size(row.SizeBytes),
        Form = CallerKind.Blocking,
        RoundsWon = 7,
        Rounds = 15,
        SwitchesPerCall = 1,
        CompiledMethods = 0,
    };

    private static IEnumerable<string> Names(JsonElement element) =>
        element.EnumerateObject().Select(member => member.Name);

    private static PerfReport MakeReport()
    {
        var facts = MachineFacts.Collect(RuntimeFacts.Collect(), PerfSettings.FromEnvironment());
        return new PerfReport(facts, 42, [MakeRow("pipe-again", 0.9, 1.1), MakeRow("pipe-again", 0.95, 1.2)]);
    }

    private static ReportRow MakeRow(string arm, double low, double high) => new()
    {
        Scenario = "PingPong",
        Arm = arm,
        Caller = CallerKind.Blocking,
        Callers = 1,
        SizeBytes = 100,
        P50Us = 0.25,
        P99Us = 1,
        MeanUs = 0.5,
        PerSecond = 2e6,
        MegabytesPerSecond = 200,
        CpuUsPerCall = 0.5,
        AllocatedBytesPerCallClient = 0,
        AllocatedBytesPerCallServer = 0,
        BaselineArm = "pipe",
        Ratio = 1,
        RatioLow = low,
        RatioHigh = high,
    };
}
