using RpcOverShm.Perf.Scenarios;

namespace RpcOverShm.Perf.Quick;

[TestFixture]
[Category("Quick")]
public sealed class ChartTests
{
    private static readonly double[] s_decades = [0.1, 1, 10, 100, 1000];

    private static readonly string[] s_arms =
    [
        "raw-ring", "raw-stream", "shm-raw", "shm-protobuf", "pipe", "uds", "tcp", "fifo", "grpc-core-uds", "memcpy",
        "shm-payload", "shm-loan", "shm-protobuf-record", "shm-msgpack-record", "pipe-protobuf-record",
        "pipe-msgpack-record", "uds-protobuf-record", "uds-msgpack-record", "grpc-dotnet-uds", "streamjsonrpc-uds",
    ];

    [Test]
    public void Decades_EndAtPowersOfTen()
    {
        var axis = LogAxis.Decades([0.25, 170], 400, 0);
        Assert.That(axis.Ticks, Is.EqualTo(s_decades).Within(1e-9));
        Assert.That(axis.At(0.1), Is.EqualTo(400).Within(1e-9));
        Assert.That(axis.At(1000), Is.Zero.Within(1e-9));
        Assert.That(axis.At(10), Is.EqualTo(200).Within(1e-9));
    }

    [Test]
    public void Values_OneValue_StillHasAnExtent()
    {
        var axis = LogAxis.Values([100], 0, 500);
        Assert.That(axis.At(100), Is.Zero);
        Assert.That(axis.Ticks, Has.Count.EqualTo(1));
    }

    [Test]
    public void Values_BothEndsHaveALabel_AndNoTwoAreClose()
    {
        var axis = LogAxis.Values([1, 10, 11, 90, 100], 0, 200);
        Assert.That(axis.Ticks, Is.EqualTo((double[])[1, 10, 100]));
    }

    // A graphical object needs a contrast of 3 with its background.
    [Test]
    public void Of_EveryArm_IsReadableOnALightPageAndADarkOne([Values("#ffffff", "#15171a")] string page) =>
        Assert.That(
            s_arms.Select(arm => SeriesStyle.Of(arm).Colour).Where(colour => colour != "currentColor")
                .Where(colour => Contrast(colour, page) < 3),
            Is.Empty);

    [Test]
    public void Of_EveryArm_LooksDifferentOnPaper()
    {
        var looks = s_arms
            .Select(SeriesStyle.Of)
            .Select(style => (style.Dashes, style.Marker, style.IsFilled, style.Width));
        Assert.That(looks, Is.Unique);
    }

    [Test]
    public void Choose_AcrossCells_TakesTheOneThatSpeaks()
    {
        var bar = new Bar("figure", BarKind.TimesBetter, BarArm.Blocking("one"), 2, 5) { Across = BarAcross.Worst };
        ReportBar slow = Measured(1.5);
        ReportBar fast = Measured(4);
        Assert.That(bar.Choose(slow, fast), Is.SameAs(slow));
        Assert.That((bar with { Across = BarAcross.Best }).Choose(slow, fast), Is.SameAs(fast));
        Assert.That((bar with { Kind = BarKind.AtMost }).Choose(slow, fast), Is.SameAs(fast));
        Assert.That(bar.Choose(null, fast), Is.SameAs(fast));
    }

    [Test]
    public void IsFor_OfABarWithLimits_IsTheCellsWithinThem()
    {
        var bar = new Bar("figure", BarKind.AtMost, BarArm.Blocking("one"), 2, 1)
        {
            SmallestBytes = 8,
            LargestBytes = 64,
            MostCallers = 1,
        };
        CellPlan[] cells = [.. CellPlan.Sizes("scenario", LoadShape.Echo, 0, 7, 8, 64, 65)];
        CellPlan[] crowds = [.. cells.Select(cell => cell with { Order = cell.Order with { Callers = 2 } })];

        Assert.That(cells.Where(bar.IsFor).Select(cell => cell.Order.SizeBytes), Is.EqualTo(new[] { 8, 64 }));
        Assert.That(crowds.Where(bar.IsFor), Is.Empty);
        Assert.That(crowds.Where((bar with { MostCallers = null }).IsFor).ToArray(), Has.Length.EqualTo(2));
        Assert.That((bar with { Cell = "0 B" }).IsFor(CellPlan.Sizes("scenario", LoadShape.Echo, 0).Single()));
    }

    private static double Contrast(string one, string other) =>
        (Math.Max(Luminance(one), Luminance(other)) + 0.05) / (Math.Min(Luminance(one), Luminance(other)) + 0.05);

    private static double Luminance(string colour)
    {
        string digits = colour.Length == 4 ? string.Concat(colour.Skip(1).Select(one => $"{one}{one}")) : colour[1..];
        double[] light = [.. Convert.FromHexString(digits).Select(part => Math.Pow(part / 255.0, 2.2))];
        return (0.2126 * light[0]) + (0.7152 * light[1]) + (0.0722 * light[2]);
    }

    private static ReportBar Measured(double value) =>
        new("figure", "cell", "bar", "aim", value, value, value, "times", true, false);
}
