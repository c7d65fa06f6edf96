using System.Runtime.CompilerServices;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Segments;
using RpcOverShm.Topics;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Layouts in shared memory match proto/PROTOCOL.md byte for byte, and suit the alignment and cache lines of
/// processors.
/// </summary>
public class SharedLayoutTests
{
    private static readonly string s_protocol = Repository.Read("proto/PROTOCOL.md").Text;

    private static readonly LayoutTable s_segment = LayoutTable.Parse(s_protocol, "### Segment");
    private static readonly LayoutTable s_topic = LayoutTable.Parse(s_protocol, "### Topic segment");
    private static readonly LayoutTable s_record = LayoutTable.Parse(s_protocol, "### Record header");
    private static readonly LayoutTable s_hello = LayoutTable.Parse(s_protocol, "### Hello");
    private static readonly LayoutTable s_page = LayoutTable.Parse(s_protocol, "### Page of statistics");
    private static readonly LayoutTable s_row = LayoutTable.Parse(s_protocol, "### Row of a connection");

    [Test]
    public void Segment_ComparedWithTheDocument_IsTheSame() =>
        Findings.AssertNone(LayoutRules.Differences(s_segment.Fields, StructFields.Of(typeof(SegmentLayout))));

    [Test]
    public void Topic_ComparedWithTheDocument_IsTheSame() =>
        Findings.AssertNone(LayoutRules.Differences(s_topic.Fields, StructFields.Of(typeof(TopicLayout))));

    [Test]
    public void RecordHeader_ComparedWithTheDocument_IsTheSame() =>
        Findings.AssertNone(LayoutRules.Differences(s_record.Fields, StructFields.Of(typeof(RecordHeader))));

    [Test]
    public void PageOfStatistics_ComparedWithTheDocument_IsTheSame() => Findings.AssertNone(
        LayoutRules.Differences(s_page.Fields, StructFields.Of(typeof(StatisticsHeader)))
            .Concat(LayoutRules.Differences(s_row.Fields, StructFields.Of(typeof(StatisticsRow)))));

    [Test]
    public void Hello_ComparedWithTheDocument_IsTheSame() =>
        Findings.AssertNone(LayoutRules.Differences(s_hello.Fields, HelloFields.Find()));

    [Test]
    public void Hello_WhereItIsReserved_IsZero()
    {
        byte[] hello = new Hello { Type = HelloType.Server, Purpose = ConnectionPurpose.Calls }.Encode();

        foreach (LayoutField reserved in s_hello.Fields.Where(field => field.Name == LayoutField.Reserved))
        {
            Assert.That(hello[reserved.Offset..reserved.End], Is.All.Zero, $"{reserved}");
        }
    }

    [Test]
    public void Fields_OfEveryDocumentedLayout_AreInOrderAlignedAndApart() => Findings.AssertNone(
        LayoutRules.Misplaced(s_segment.Fields, SegmentLayout.HeaderSizeBytes)
            .Concat(LayoutRules.Misplaced(s_topic.Fields, TopicLayout.HeaderSizeBytes))
            .Concat(LayoutRules.Misplaced(s_record.Fields, RecordHeader.SizeBytes))
            .Concat(LayoutRules.Misplaced(s_hello.Fields, Hello.SizeBytes))
            .Concat(LayoutRules.Misplaced(s_page.Fields, StatisticsHeader.SizeBytes))
            .Concat(LayoutRules.Misplaced(s_row.Fields, StatisticsRow.SizeBytes)));

    [Test]
    public void Sizes_OfSharedStructs_AreThoseTheyAnnounce()
    {
        Assert.That(Unsafe.SizeOf<SegmentLayout>(), Is.EqualTo(SegmentLayout.HeaderSizeBytes));
        Assert.That(Unsafe.SizeOf<RecordHeader>(), Is.EqualTo(RecordHeader.SizeBytes));
        Assert.That(new Hello { Type = HelloType.Client }.Encode(), Has.Length.EqualTo(Hello.SizeBytes));
    }

    [Test]
    public void HotWords_OfASegment_ShareNoLineWithAnything()
    {
        IReadOnlyList<LayoutField> hot = s_segment.WrittenBy("owner");

        Assert.That(hot, Has.Count.EqualTo(5), "Every word that changes is written by its owner.");
        Findings.AssertNone(LayoutRules.SharedLines(hot, s_segment.Fields, SegmentLayout.HotWordSpacingBytes));
    }

    [Test]
    public void Differences_OfMovedMissingAndNewFields_AreFoundBothWays()
    {
        LayoutField[] documented = [new("Tail", 0, 8), new("Head", 8, 8), new("Gone", 16, 4)];
        LayoutField[] actual = [new("Tail", 0, 8), new("Head", 24, 8), new("New", 32, 4)];

        Assert.That(LayoutRules.Differences(documented, documented), Is.Empty);
        Assert.That(LayoutRules.Differences(documented, actual), Is.EqualTo(new[]
        {
            "The code does not have Head at 8, 8 bytes.",
            "The code does not have Gone at 16, 4 bytes.",
            "The document does not have Head at 24, 8 bytes.",
            "The document does not have New at 32, 4 bytes.",
        }));
    }

    [TestCase(0, 4, 4, 4, null)]
    [TestCase(0, 16, 16, 16, null)]
    [TestCase(4, 4, 0, 4, "stands after")]
    [TestCase(0, 8, 4, 4, "overlaps")]
    [TestCase(0, 4, 4, 8, "not naturally aligned")]
    [TestCase(0, 4, 32, 4, "outside of 32 bytes")]
    public void Misplaced_OfTwoFields_FindsWhatIsWrong(int first, int size, int second, int secondSize, string? finding)
    {
        LayoutField[] fields = [new("One", first, size), new("Two", second, secondSize)];

        Assert.That(LayoutRules.Misplaced(fields, 32), finding is null ? Is.Empty : Has.One.Contains(finding));
    }

    [Test]
    public void SharedLines_OfTwoWordsWithinALine_AreFound()
    {
        LayoutField[] words = [new("Tail", 0, 8), new("Head", 128, 8), new("Parked", 192, 8)];

        Assert.That(LayoutRules.SharedLines(words[..1], words, 128), Is.Empty);
        Assert.That(LayoutRules.SharedLines(words[1..], words, 128), Has.Exactly(2).Items);
    }

    [Test]
    public void HelloFields_OfGapsAndChangedBytes_AreWhatDiffers()
    {
        Assert.That(
            HelloFields.Compare("Two", [1, 0, 0, 0, 9], [1, 0, 255, 255, 9]), Is.EqualTo(new LayoutField("Two", 2, 2)));
        Assert.That(HelloFields.WithReserved([new("One", 1, 2), new("Two", 3, 2)], 8), Is.EqualTo(new LayoutField[]
        {
            new(LayoutField.Reserved, 0, 1), new("One", 1, 2), new("Two", 3, 2), new(LayoutField.Reserved, 5, 3),
        }));
    }

    [Test]
    public void LayoutTable_OfADocument_HasTheRowsUnderItsHeading()
    {
        LayoutTable table = LayoutTable.Parse(
            """
            ### Other
            | offset | size | field | written by |
            |---|---|---|---|
            | 0 | 8 | Wrong | owner |
            ### Segment
            words
            | offset | size | field | written by |
            |---|---|---|---|
            | 0 | 8 | Magic | owner, once |
            | 128 | 8 | Tail | owner |
            """,
            "### Segment");

        Assert.That(table.Fields, Is.EqualTo(new LayoutField[] { new("Magic", 0, 8), new("Tail", 128, 8) }));
        Assert.That(table.WrittenBy("owner"), Is.EqualTo(new LayoutField[] { new("Tail", 128, 8) }));
        Assert.That(() => LayoutTable.Parse("### Segment", "### Segment"), Throws.TypeOf<FormatException>());
    }
}
