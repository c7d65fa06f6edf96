using Google.Protobuf;

namespace RpcOverShm.Perf.Quick;

/// <summary>Records are turned back into the pattern that they were made from, and a wrong field is found.</summary>
[TestFixture]
[Category("Quick")]
public sealed class RecordShapeTests
{
    private const long Number = 4711;

    [Test]
    public void BytesOf_OfWhatWasMade_AreThePattern()
    {
        Assert.That(WrongAfter(RecordKind.Tiny, _ => { }), Is.Zero);
        Assert.That(WrongAfter(RecordKind.Small, _ => { }), Is.Zero);
        Assert.That(WrongAfter(RecordKind.Wide, _ => { }), Is.Zero);
        Assert.That(WrongAfter(RecordKind.Table, _ => { }), Is.Zero);
    }

    [Test]
    public void BytesOf_OfAFieldThatIsWrong_AreNotThePattern()
    {
        Assert.That(WrongAfter(RecordKind.Tiny, record => record.Value++), Is.Positive);
        Assert.That(WrongAfter(RecordKind.Small, record => record.Place = new string('0', 36)), Is.Positive);
        Assert.That(WrongAfter(RecordKind.Wide, record => record.Notes.Remove("owner")), Is.Positive);
        Assert.That(WrongAfter(RecordKind.Wide, record => record.Last = null), Is.Positive);
        Assert.That(WrongAfter(RecordKind.Wide, record => record.Marks.RemoveAt(15)), Is.Positive);
        Assert.That(WrongAfter(RecordKind.Table, record => record.Rows.RemoveAt(999)), Is.Positive);
        Assert.That(WrongAfter(RecordKind.Table, record => record.Rows[500].Kind++), Is.Positive);
    }

    [Test]
    public void Sizes_AreAboutThoseOfProtobuf()
    {
        AssertSize(RecordKind.Tiny);
        AssertSize(RecordKind.Small);
        AssertSize(RecordKind.Wide);
        AssertSize(RecordKind.Table);
    }

    private static long WrongAfter<T>(RecordKind<T> kind, Action<T> change)
        where T : class, IMessage<T>, new()
    {
        T record = Make(kind);
        change(record);
        byte[] flat = [];
        return PayloadPattern.CountWrong(kind.Shape.BytesOf(record, ref flat), Number, kind.Shape.PatternBytes);
    }

    private static void AssertSize<T>(RecordKind<T> kind)
        where T : class, IMessage<T>, new() =>
        Assert.That(Make(kind).CalculateSize(), Is.EqualTo(kind.SizeBytes).Within(20).Percent);

    private static T Make<T>(RecordKind<T> kind)
        where T : class, IMessage<T>, new()
    {
        byte[] pattern = new byte[kind.Shape.PatternBytes];
        PayloadPattern.Fill(pattern, Number);
        return kind.Shape.Make(pattern);
    }
}
