using System.Buffers;
using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Tokens;

/// <summary>Where a reader stands, what it says of what comes next, and what it leaves untouched.</summary>
public class ReaderTests
{
    [Test]
    public void Position_AfterEachToken_IsBehindIt()
    {
        foreach (ReadOnlySequence<byte> cut in Segment.EveryCutOf(Message.Bytes("93 01 cd0100 a3616263")))
        {
            var reader = new MessagePackReader(cut);
            reader.ReadArrayHeader();
            reader.ReadInt32();

            Assert.That(Message.Hex(cut.Slice(reader.Position).ToArray()), Is.EqualTo("cd0100a3616263"));
            Assert.That((reader.Consumed, reader.End), Is.EqualTo((2L, false)));

            reader.ReadInt32();
            reader.ReadString();
            Assert.That((reader.Consumed, reader.End), Is.EqualTo((9L, true)));
            Assert.That(cut.Slice(reader.Position).IsEmpty, Is.True);
        }
    }

    [Test]
    public void Sequence_OfAReader_IsWhatItWasMadeOf()
    {
        var reader = new MessagePackReader(new byte[] { 1, 2 });
        reader.ReadInt32();

        Assert.That(reader.Sequence.ToArray(), Is.EqualTo(new byte[] { 1, 2 }));
    }

    [Test]
    public void Next_AtTheEnd_IsTheEndOfTheStream()
    {
        Message.AssertThrows<EndOfStreamException>("", (ref reader) => reader.NextCode);
        Message.AssertThrows<EndOfStreamException>("", (ref reader) => reader.NextMessagePackType);
        Message.AssertThrows<EndOfStreamException>("", (ref reader) => reader.IsNil);
        Message.AssertThrows<EndOfStreamException>("", (ref reader) => reader.TryReadNil());
        Assert.That(Message.Read("", (ref reader) => reader.End), Is.True);
    }

    [Test]
    public void Next_OfAnyToken_IsNotTakenByLooking()
    {
        foreach (ReadOnlySequence<byte> cut in Segment.EveryCutOf(Message.Bytes("c0")))
        {
            var reader = new MessagePackReader(cut);

            Assert.That(reader.NextCode, Is.EqualTo(MessagePackCode.Nil));
            Assert.That(reader.NextMessagePackType, Is.EqualTo(MessagePackType.Nil));
            Assert.That(reader.IsNil, Is.True);
            Assert.That(reader.Consumed, Is.Zero);
            Assert.That(reader.ReadNil(), Is.EqualTo(Nil.Default));
        }
    }

    [Test]
    public void TryReadNil_OfAnythingElse_TakesNothing()
    {
        ReadTokens<(bool, long)> read = (ref reader) => (reader.TryReadNil(), reader.Consumed);

        Assert.That(Message.Read("01", read), Is.EqualTo((false, 0L)));
        Assert.That(Message.Read("c0", read), Is.EqualTo((true, 1L)));
    }

    [Test]
    public void PeekReader_ThatReads_LeavesTheReaderWhereItIs()
    {
        Message.AssertReads("a3616263", "abc", (ref reader) =>
        {
            MessagePackReader ahead = reader.CreatePeekReader();
            Assert.That(ahead.ReadString(), Is.EqualTo("abc"));
            Assert.That(reader.Consumed, Is.Zero);
            return reader.ReadString();
        });
    }

    [Test]
    public void Clone_OverOtherBytes_KeepsDepthAndToken()
    {
        using var source = new CancellationTokenSource();
        var reader = new MessagePackReader(new byte[] { 1 }) { Depth = 7, CancellationToken = source.Token };
        MessagePackReader clone = reader.Clone(new ReadOnlySequence<byte>([2]));

        Assert.That((clone.Depth, clone.CancellationToken), Is.EqualTo((7, source.Token)));
        Assert.That((clone.ReadInt32(), reader.Consumed), Is.EqualTo((2, 0L)));
    }

    [TestCase("dc00")]
    [TestCase("dd000000")]
    [TestCase("")]
    public void TryReadArrayHeader_OfAHeaderThatIsNotAllThere_TakesNothing(string hex)
    {
        foreach (ReadOnlySequence<byte> cut in Segment.EveryCutOf(Message.Bytes(hex)))
        {
            var reader = new MessagePackReader(cut);

            Assert.That(reader.TryReadArrayHeader(out _), Is.False);
            Assert.That(reader.Consumed, Is.Zero);
        }
    }

    [TestCase("de00")]
    [TestCase("df000000")]
    [TestCase("")]
    public void TryReadMapHeader_OfAHeaderThatIsNotAllThere_TakesNothing(string hex)
    {
        foreach (ReadOnlySequence<byte> cut in Segment.EveryCutOf(Message.Bytes(hex)))
        {
            var reader = new MessagePackReader(cut);

            Assert.That(reader.TryReadMapHeader(out _), Is.False);
            Assert.That(reader.Consumed, Is.Zero);
        }
    }

    [TestCase("d4")]
    [TestCase("c70c")]
    [TestCase("c90000000c")]
    [TestCase("")]
    public void TryReadExtensionHeader_OfAHeaderThatIsNotAllThere_TakesNothing(string hex)
    {
        foreach (ReadOnlySequence<byte> cut in Segment.EveryCutOf(Message.Bytes(hex)))
        {
            var reader = new MessagePackReader(cut);

            Assert.That(reader.TryReadExtensionFormatHeader(out _), Is.False);
            Assert.That(reader.Consumed, Is.Zero);
        }
    }

    [Test]
    public void TryReadHeaders_OfCountsWithoutElements_AnswerThem()
    {
        Assert.That(
            Message.Read("dc0005", (ref reader) => (reader.TryReadArrayHeader(out int count), count)),
            Is.EqualTo((true, 5)));
        Assert.That(
            Message.Read("8f", (ref reader) => (reader.TryReadMapHeader(out int count), count)),
            Is.EqualTo((true, 15)));
    }

    [Test]
    public void StringSpan_InOneSegment_IsTakenWithoutACopy()
    {
        byte[] bytes = Message.Bytes("a3616263");
        var reader = new MessagePackReader(bytes);

        Assert.That(reader.TryReadStringSpan(out ReadOnlySpan<byte> span), Is.True);
        Assert.That(span.Overlaps(bytes.AsSpan(1), out int offset) && offset == 0, Is.True);
        Assert.That(reader.End, Is.True);
    }

    [Test]
    public void StringSpan_AcrossSegments_IsLeftForTheSequence()
    {
        byte[] bytes = Message.Bytes("a3616263");
        var reader = new MessagePackReader(Segment.Join(bytes.AsMemory(0, 2), bytes.AsMemory(2)));

        Assert.That(reader.TryReadStringSpan(out ReadOnlySpan<byte> span), Is.False);
        Assert.That((span.Length, reader.Consumed), Is.EqualTo((0, 0L)));
        Assert.That(reader.ReadStringSequence()!.Value.ToArray(), Is.EqualTo("abc"u8.ToArray()));
    }

    [Test]
    public void StringSpan_OfNil_IsFalseAndTakesNothing()
    {
        Assert.That(
            Message.Read("c0", (ref reader) => (reader.TryReadStringSpan(out _), reader.Consumed)),
            Is.EqualTo((false, 0L)));
    }

    [TestCase("c0")]
    public void Nil_ReadAsWhatMayBeNull_IsNull(string hex)
    {
        Message.AssertReads(hex, (string?)null, (ref reader) => reader.ReadString());
        Message.AssertReads(hex, (byte[]?)null, (ref reader) => reader.ReadBytes()?.ToArray());
        Message.AssertReads(hex, (byte[]?)null, (ref reader) => reader.ReadStringSequence()?.ToArray());
    }

    [Test]
    public void Bytes_WrittenAsAString_AreReadAsBytes()
    {
        foreach (string header in new[] { "a3", "d903", "da0003", "db00000003" })
        {
            Message.AssertReads(header + "616263", "abc"u8.ToArray(), (ref reader) => reader.ReadBytes()?.ToArray());
        }
    }

    [Test]
    public void Raw_OfALength_IsThoseBytesOrTheEndOfTheStream()
    {
        foreach (ReadOnlySequence<byte> cut in Segment.EveryCutOf(Message.Bytes("01020304")))
        {
            var reader = new MessagePackReader(cut);

            Assert.That(reader.ReadRaw(3).ToArray(), Is.EqualTo(new byte[] { 1, 2, 3 }));
            Assert.That(reader.ReadRaw(0).IsEmpty, Is.True);
            Assert.That(reader.Consumed, Is.EqualTo(3));
        }

        Message.AssertThrows<EndOfStreamException>("0102", (ref reader) => reader.ReadRaw(3));
    }

    [Test]
    public void Skip_OfNestedValues_TakesThemWhole()
    {
        const string Nested = "93 82 a161 c403010203 c0 d405ff 91 dc0002 90 80 cb400921fb54442d18";
        Message.AssertReads(Nested + "07", 7, (ref reader) =>
        {
            reader.Skip();
            return reader.ReadInt32();
        });
    }

    [Test]
    public void Timestamp_WhoseHeaderWasRead_IsReadByTheHeader()
    {
        Message.AssertReads("d6ff5e0d5da5", new DateTime(2020, 1, 2, 3, 4, 5, DateTimeKind.Utc), (ref reader) =>
        {
            ExtensionHeader header = reader.ReadExtensionFormatHeader();
            Assert.That(header.Equals(new ExtensionHeader(-1, 4)), Is.True);
            return reader.ReadDateTime(header);
        });
    }

    [Test]
    public void EmptySequence_OfSegmentsWithoutBytes_IsAtItsEnd()
    {
        Assert.That(
            Message.Read(Segment.Join(default, default, default), (ref reader) => (reader.End, reader.Consumed)),
            Is.EqualTo((true, 0L)));
    }
}
