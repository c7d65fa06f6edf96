using Google.Protobuf;

namespace RpcOverShm.Perf.Quick;

/// <summary>Records give back the pattern they were made from, and a field that is wrong is seen.</summary>
[TestFixture]
[Category("Quick")]
public sealed class RecordShapeTests
{
    private const long Number = 4711;

    [Test]
    public void Flatten_OfWhatWasMade_IsThePattern()
    {
        Assert.That(WrongAfter(new TinyShape(), _ => { }), Is.Zero);
        Assert.That(WrongAfter(new SmallShape(), _ => { }), Is.Zero);
        Assert.That(WrongAfter(new WideShape(), _ => { }), Is.Zero);
        Assert.That(WrongAfter(new TableShape(), _ => { }), Is.Zero);
    }

    [Test]
    public void Flatten_OfAFieldThatIsWrong_IsNotThePattern()
    {
        Assert.That(WrongAfter(new TinyShape(), record => record.Value++), Is.Positive);
        Assert.That(WrongAfter(new SmallShape(), record => record.Place = new string('0', 36)), Is.Positive);
        Assert.That(WrongAfter(new WideShape(), record => record.Notes.Remove("owner")), Is.Positive);
        Assert.That(WrongAfter(new WideShape(), record => record.Last = null), Is.Positive);
        Assert.That(WrongAfter(new TableShape(), record => record.Rows.RemoveAt(999)), Is.Positive);
        Assert.That(WrongAfter(new TableShape(), record => record.Rows[500].Kind++), Is.Positive);
    }

    [Test]
    public void Sizes_AreAboutThoseOfProtobuf()
    {
        Assert.That(BytesOf(new TinyShape()), Is.EqualTo(RecordSizes.Tiny).Within(20).Percent);
        Assert.That(BytesOf(new SmallShape()), Is.EqualTo(RecordSizes.Small).Within(20).Percent);
        Assert.That(BytesOf(new WideShape()), Is.EqualTo(RecordSizes.Wide).Within(20).Percent);
        Assert.That(BytesOf(new TableShape()), Is.EqualTo(RecordSizes.Table).Within(20).Percent);
    }

    private static long WrongAfter<T>(RecordShape<T> shape, Action<T> change)
        where T : class, IMessage<T>
    {
        T record = Make(shape);
        change(record);
        byte[] flat = new byte[shape.PatternBytes];
        shape.Flatten(record, flat);
        return PayloadPattern.CountWrong(flat, Number, shape.PatternBytes);
    }

    private static int BytesOf<T>(RecordShape<T> shape)
        where T : class, IMessage<T> =>
        Make(shape).CalculateSize();

    private static T Make<T>(RecordShape<T> shape)
        where T : class, IMessage<T>
    {
        byte[] pattern = new byte[shape.PatternBytes];
        PayloadPattern.Fill(pattern, Number);
        return shape.Make(pattern);
    }
}
