using System.Text.Json;
using RpcOverShm.Perf.Peer.Arms;
using RpcOverShm.Perf.Peer.Control;
using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Recording;
using RpcOverShm.Perf.Report;

namespace RpcOverShm.Perf.Quick;

[TestFixture]
[Category("Quick")]
public sealed class ReportTests
{
    private static readonly string[] s_reportNames =
        ["machine", "seed", "noiseFloor", "rows", "bars", "tables", "notes"];

    private static readonly string[] s_rowNames =
    [
        "scenario", "arm", "caller", "callers", "sizeBytes", "p50Us", "p99Us", "meanUs", "perSecond",
        "megabytesPerSecond", "cpuUsPerCall", "allocatedBytesPerCallClient", "allocatedBytesPerCallServer",
        "baselineArm", "ratio", "ratioLow", "ratioHigh", "variant", "replyBytes", "clients", "p90Us", "p999Us", "maxUs",
    ];

    [Test]
    public void Write_Json_HasTheNamesThatOthersRead()
    {
        using JsonDocument json = JsonDocument.Parse(JsonReport.Write(MakeReport()));
        Assert.That(Names(json.RootElement), Is.EqualTo(s_reportNames));
        JsonElement row = json.RootElement.GetProperty("rows")[0];
        Assert.That(Names(row), Is.EqualTo(s_rowNames));
        Assert.That(row.GetProperty("caller").GetString(), Is.EqualTo("blocking"));
    }

    [Test]
    public void Of_SeveralTwins_HasTheWidestFloor()
    {
        PerfReport report = MakeReport();
        Assert.That(report.NoiseFloor, Is.EqualTo(new NoiseFloor(0.9, 1.2)));
    }

    [Test]
    public void CopyCounts_EveryArmThatCarriesMessages_HasOne() =>
        Assert.That(
            ArmCatalog.All.Select(arm => arm.Name).Where(name => CopyCounts.Of(name).Length == 0),
            Is.EqualTo(new[] { "cache-line" }));

    [Test]
    public void Write_Markdown_TellsRowsFactsAndNotes()
    {
        PerfReport report = MakeReport() with { Notes = ["a note"] };
        string text = MarkdownReport.Write(report, [.. report.Rows.Select(Measured)]);
        Assert.That(text, Does.Contain("## PingPong, 100 B"));
        Assert.That(text, Does.Contain("| pipe-again | blocking | 0.25 |"));
        Assert.That(text, Does.Contain("- a note"));
        Assert.That(text, Does.Contain("between 0.90 and 1.20"));
        Assert.That(text, Does.Contain("| seed | 42 |"));
    }

    [Test]
    public void Write_Html_IsOnePageWithChartsBarsAndRivals()
    {
        ReportRow row = MakeRow("shm-protobuf", 0.1, 0.2);
        var bar = new ReportBar("A <figure>", "100 B", "at most 4", "at most 2", 3, 2, 5, "times", true, false);
        PerfReport report = MakeReport() with { Bars = [bar], Rows = [row, row with { SizeBytes = 1024, P50Us = 3 }] };
        string page = HtmlReport.Write(report, [.. report.Rows.Select(Measured)]);
        Assert.That(page, Does.Contain("<svg viewBox"));
        Assert.That(page, Does.Contain("A &lt;figure&gt;"));
        Assert.That(page, Does.Contain("grpc-dotnet 2.80"));
        Assert.That(page, Does.Not.Contain("<script").And.Not.Contain("http"));
        Assert.That(page, Does.Not.Contain("NaN").And.Not.Contain("∞"));
    }

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
        return PerfReport.Of(facts, 42, [MakeRow("pipe-again", 0.9, 1.1), MakeRow("pipe-again", 0.95, 1.2)]);
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
