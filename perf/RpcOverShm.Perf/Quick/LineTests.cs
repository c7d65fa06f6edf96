namespace RpcOverShm.Perf.Quick;

[TestFixture]
[Category("Quick")]
public sealed class LineTests
{
    [Test]
    public void NextText_AnyText_IsWhatWasWritten()
    {
        string[] texts = ["", " ", "two words", "lines\r\nof text", "100 % µs", "shm:///tmp/a b", "\t"];
        var writer = new LineWriter("verb");
        foreach (string text in texts)
        {
            writer.Add(text).Add(long.MinValue);
        }

        Assert.That(writer.ToString(), Does.Not.Contain("\n"), "A line is one line.");
        var reader = new LineReader(writer.ToString());
        Assert.That(reader.NextText(), Is.EqualTo("verb"));
        foreach (string text in texts)
        {
            Assert.That(reader.NextText(), Is.EqualTo(text));
            Assert.That(reader.NextNumber(), Is.EqualTo(long.MinValue));
        }

        Assert.That(reader.NextText, Throws.TypeOf<FormatException>());
    }
}
