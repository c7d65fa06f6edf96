using System.Buffers;
using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Tokens;

/// <summary>How the writer deals with the buffer writer below it.</summary>
public class WriterTests
{
    [TestCase(1)]
    [TestCase(3)]
    [TestCase(17)]
    public void Tokens_IntoABufferThatIsSparing_AreAllThere(int unasked)
    {
        var buffer = new SparingBuffer(unasked);
        var writer = new MessagePackWriter(buffer);
        WriteOneOfEach(ref writer);
        writer.Flush();

        Assert.That(Message.Hex(buffer.Written), Is.EqualTo(Message.Written(WriteOneOfEach)));
        Assert.That(buffer.Requests, Is.GreaterThan(1));
    }

    [Test]
    public void Tokens_BeforeFlush_AreNotTheBuffers()
    {
        var buffer = new ArrayBufferWriter<byte>();
        var writer = new MessagePackWriter(buffer);
        writer.Write(1);

        Assert.That(buffer.WrittenCount, Is.Zero);

        writer.Flush();
        writer.Flush();
        writer.Write(2);
        writer.Flush();
        Assert.That(buffer.WrittenSpan.ToArray(), Is.EqualTo(new byte[] { 1, 2 }));
    }

    [Test]
    public void Span_FilledByHand_IsPartOfTheMessage()
    {
        Assert.That(
            Message.Written((ref writer) =>
            {
                writer.Write(1);
                Span<byte> span = writer.GetSpan(300);
                Assert.That(span.Length, Is.GreaterThanOrEqualTo(300));
                span[..300].Fill(7);
                writer.Advance(300);
                writer.Write(2);
            }),
            Is.EqualTo("01" + string.Concat(Enumerable.Repeat("07", 300)) + "02"));
    }

    [Test]
    public void Clone_IntoAnotherBuffer_KeepsSpecAndToken()
    {
        using var source = new CancellationTokenSource();
        var writer = new MessagePackWriter(new ArrayBufferWriter<byte>())
        {
            OldSpec = true,
            CancellationToken = source.Token,
        };
        var other = new ArrayBufferWriter<byte>();
        MessagePackWriter clone = writer.Clone(other);
        clone.Write(1);
        clone.Flush();

        Assert.That((clone.OldSpec, clone.CancellationToken), Is.EqualTo((true, source.Token)));
        Assert.That(other.WrittenCount, Is.EqualTo(1));
    }

    [Test]
    public void Tokens_IntoABufferThatGivesTooLittle_AreNotWrittenBehindIt()
    {
        WriteTokens[] writes =
        [
            (ref writer) => writer.Write(ulong.MaxValue),
            (ref writer) => writer.Write(long.MinValue),
            (ref writer) => writer.Write(70_000),
            (ref writer) => writer.Write(300),
            (ref writer) => writer.Write(1.5f),
            (ref writer) => writer.Write(1.5),
            (ref writer) => writer.Write(new DateTime(2500, 1, 1, 0, 0, 0, DateTimeKind.Utc)),
            (ref writer) => writer.WriteArrayHeader(70_000),
            (ref writer) => writer.WriteMapHeader(300),
        ];
        foreach (WriteTokens write in writes)
        {
            var buffer = new MeagreBuffer(given: 2);

            Assert.That(() => WriteInto(buffer, write), Throws.Exception);
            Assert.That(buffer.Behind.ContainsAnyExcept((byte)0), Is.False);
        }
    }

    [Test]
    public void Writer_OfARepeatedMessage_AllocatesNothing()
    {
        var buffer = new ArrayBufferWriter<byte>(4096);
        Measure();
        long allocated = Measure();

        Assert.That(allocated, Is.Zero);

        long Measure()
        {
            buffer.ResetWrittenCount();
            long before = GC.GetAllocatedBytesForCurrentThread();
            var writer = new MessagePackWriter(buffer);
            writer.WriteMapHeader(2);
            writer.Write("name");
            writer.Write(123456);
            writer.Write("other");
            writer.Write(1.5);
            writer.Flush();
            return GC.GetAllocatedBytesForCurrentThread() - before;
        }
    }

    private static void WriteInto(MeagreBuffer buffer, WriteTokens write)
    {
        var writer = new MessagePackWriter(buffer);
        write(ref writer);
        writer.Flush();
    }

    private static void WriteOneOfEach(ref MessagePackWriter writer)
    {
        writer.WriteArrayHeader(70_000);
        writer.WriteMapHeader(3);
        writer.Write(1);
        writer.Write(long.MinValue);
        writer.Write(1.5f);
        writer.Write(1.5);
        writer.Write("short");
        writer.Write(new string('ä', 1000));
        writer.Write(new byte[1000]);
        writer.WriteString("utf8"u8);
        writer.Write(new DateTime(2500, 1, 1, 0, 0, 0, DateTimeKind.Utc));
        writer.WriteExtensionFormat(new ExtensionResult(9, new byte[33]));
        writer.WriteRaw(new byte[5000]);
        writer.Write((string?)null);
    }
}
