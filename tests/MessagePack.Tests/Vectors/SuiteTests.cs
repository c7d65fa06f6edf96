using System.Buffers;
using System.Globalization;
using System.Numerics;
using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Vectors;

/// <summary>
/// The cases of the public msgpack-test-suite, as data of our own making: each form is read, in one piece and in every
/// other, and the shortest is what is written.
/// </summary>
public class SuiteTests
{
    private static readonly string[] s_kinds =
        ["nil", "bool", "binary", "integer", "float", "string", "json", "timestamp", "ext"];

    private static IEnumerable<Vector> Integers => Vector.OfKind("integer");

    private static IEnumerable<Vector> Numbers => Vector.OfKind("integer", "float");

    private static IEnumerable<Vector> Strings => Vector.OfKind("string");

    private static IEnumerable<Vector> Binaries => Vector.OfKind("binary");

    private static IEnumerable<Vector> Extensions => Vector.OfKind("ext");

    private static IEnumerable<Vector> Timestamps => Vector.OfKind("timestamp");

    private static IEnumerable<Vector> Jsons => Vector.OfKind("json", "nil", "bool");

    private static IEnumerable<string> Forms => Vector.Suite.SelectMany(vector => vector.Forms);

    [Test]
    public void Suite_Loaded_HasEveryKind()
    {
        Assert.That(Vector.Suite.Select(vector => vector.Kind).Distinct(), Is.EquivalentTo(s_kinds));
        Assert.That(Forms.Count(), Is.EqualTo(300));
    }

    [TestCaseSource(nameof(Integers))]
    public void Integer_InEachForm_IsReadAsEveryTypeThatHoldsIt(Vector vector)
    {
        var value = BigInteger.Parse(vector.Value, CultureInfo.InvariantCulture);
        foreach (string form in vector.Forms.Where(form => !IsFloat(form)))
        {
            AssertReadsIfHeld(form, value, sbyte.MinValue, sbyte.MaxValue, (ref reader) => reader.ReadSByte());
            AssertReadsIfHeld(form, value, byte.MinValue, byte.MaxValue, (ref reader) => reader.ReadByte());
            AssertReadsIfHeld(form, value, short.MinValue, short.MaxValue, (ref reader) => reader.ReadInt16());
            AssertReadsIfHeld(form, value, ushort.MinValue, ushort.MaxValue, (ref reader) => reader.ReadUInt16());
            AssertReadsIfHeld(form, value, ushort.MinValue, ushort.MaxValue, (ref reader) => reader.ReadChar());
            AssertReadsIfHeld(form, value, int.MinValue, int.MaxValue, (ref reader) => reader.ReadInt32());
            AssertReadsIfHeld(form, value, uint.MinValue, uint.MaxValue, (ref reader) => reader.ReadUInt32());
            AssertReadsIfHeld(form, value, long.MinValue, long.MaxValue, (ref reader) => reader.ReadInt64());
            AssertReadsIfHeld(form, value, ulong.MinValue, ulong.MaxValue, (ref reader) => reader.ReadUInt64());
        }
    }

    [TestCaseSource(nameof(Numbers))]
    public void Number_InEachForm_IsReadAsFloat(Vector vector)
    {
        double value = double.Parse(vector.Value, CultureInfo.InvariantCulture);
        foreach (string form in vector.Forms)
        {
            Message.AssertReads(form, value, (ref reader) => reader.ReadDouble());
            Message.AssertReads(form, (float)value, (ref reader) => reader.ReadSingle());
        }
    }

    [TestCaseSource(nameof(Numbers))]
    public void Float_ReadAsInteger_IsRefused(Vector vector)
    {
        foreach (string form in vector.Forms.Where(IsFloat))
        {
            Message.AssertThrows<MessagePackSerializationException>(form, (ref reader) => reader.ReadInt64());
            Message.AssertThrows<MessagePackSerializationException>(form, (ref reader) => reader.ReadUInt64());
        }
    }

    [TestCaseSource(nameof(Integers))]
    public void Integer_Written_TakesTheShortestForm(Vector vector)
    {
        var value = BigInteger.Parse(vector.Value, CultureInfo.InvariantCulture);
        string shortest = Shortest(vector);
        if (value >= 0)
        {
            Assert.That(Message.Written((ref writer) => writer.Write((ulong)value)), Is.EqualTo(shortest));
            Assert.That(MessagePackWriter.GetEncodedLength((ulong)value) * 2, Is.EqualTo(shortest.Length));
        }

        if (value <= long.MaxValue)
        {
            Assert.That(Message.Written((ref writer) => writer.Write((long)value)), Is.EqualTo(shortest));
            Assert.That(MessagePackWriter.GetEncodedLength((long)value) * 2, Is.EqualTo(shortest.Length));
        }

        if (value >= int.MinValue && value <= int.MaxValue)
        {
            Assert.That(Message.Written((ref writer) => writer.Write((int)value)), Is.EqualTo(shortest));
        }

        if (value >= 0 && value <= uint.MaxValue)
        {
            Assert.That(Message.Written((ref writer) => writer.Write((uint)value)), Is.EqualTo(shortest));
        }
    }

    [TestCaseSource(nameof(Numbers))]
    public void Float_Written_KeepsItsKind(Vector vector)
    {
        foreach (string form in vector.Forms.Where(IsFloat))
        {
            double value = double.Parse(vector.Value, CultureInfo.InvariantCulture);
            string written = form.StartsWith("ca", StringComparison.Ordinal)
                ? Message.Written((ref writer) => writer.Write((float)value))
                : Message.Written((ref writer) => writer.Write(value));

            Assert.That(written, Is.EqualTo(Plain(form)));
        }
    }

    [TestCaseSource(nameof(Strings))]
    public void String_InEachForm_IsReadAndWritten(Vector vector)
    {
        foreach (string form in vector.Forms)
        {
            Message.AssertReads(form, vector.Value, (ref reader) => reader.ReadString());
            Message.AssertReads(form, vector.Value, (ref reader) => TextOf(reader.ReadStringSequence()!.Value));
        }

        Assert.That(Message.Written((ref writer) => writer.Write(vector.Value)), Is.EqualTo(Shortest(vector)));
        Assert.That(Message.Written((ref writer) => writer.Write(vector.Value.AsSpan())), Is.EqualTo(Shortest(vector)));
    }

    [TestCaseSource(nameof(Binaries))]
    public void Binary_InEachForm_IsReadAndWritten(Vector vector)
    {
        byte[] value = Message.Bytes(vector.Value);
        foreach (string form in vector.Forms)
        {
            Message.AssertReads(form, value, (ref reader) => reader.ReadBytes()?.ToArray());
        }

        Assert.That(Message.Written((ref writer) => writer.Write(value)), Is.EqualTo(Shortest(vector)));
        Assert.That(
            Message.Written((ref writer) => writer.Write(new ReadOnlySequence<byte>(value))),
            Is.EqualTo(Shortest(vector)));
    }

    [TestCaseSource(nameof(Extensions))]
    public void Extension_InEachForm_IsReadAndWritten(Vector vector)
    {
        sbyte type = sbyte.Parse(vector.Value.Split(' ')[0], CultureInfo.InvariantCulture);
        byte[] data = Message.Bytes(vector.Value.Split(' ')[1]);
        foreach (string form in vector.Forms)
        {
            Message.AssertReads(form, type, (ref reader) => reader.ReadExtensionFormat().TypeCode);
            Message.AssertReads(form, data, (ref reader) => reader.ReadExtensionFormat().Data.ToArray());
        }

        Assert.That(
            Message.Written((ref writer) => writer.WriteExtensionFormat(new ExtensionResult(type, data))),
            Is.EqualTo(Shortest(vector)));
    }

    [TestCaseSource(nameof(Timestamps))]
    public void Timestamp_WithinTheYearsOfDateTime_IsReadAndWritten(Vector vector)
    {
        long seconds = long.Parse(vector.Value.Split(' ')[0], CultureInfo.InvariantCulture);
        long nanoseconds = long.Parse(vector.Value.Split(' ')[1], CultureInfo.InvariantCulture);
        BigInteger ticks = DateTime.UnixEpoch.Ticks + ((BigInteger)seconds * 10_000_000) + (nanoseconds / 100);
        if (ticks < 0)
        {
            Message.AssertThrows<ArgumentOutOfRangeException>(vector.Forms[0], (ref reader) => reader.ReadDateTime());
            return;
        }

        var value = new DateTime((long)ticks, DateTimeKind.Utc);
        Message.AssertReads(vector.Forms[0], value, (ref reader) => reader.ReadDateTime());
        Message.AssertReads(vector.Forms[0], DateTimeKind.Utc, (ref reader) => reader.ReadDateTime().Kind);
        if (nanoseconds % 100 == 0)
        {
            Assert.That(Message.Written((ref writer) => writer.Write(value)), Is.EqualTo(Shortest(vector)));
        }
    }

    [TestCaseSource(nameof(Jsons))]
    public void Nested_InEachForm_IsReadAndWrittenAsJson(Vector vector)
    {
        foreach (string form in vector.Forms)
        {
            foreach (ReadOnlySequence<byte> cut in Segment.EveryCutOf(Message.Bytes(form)))
            {
                Assert.That(MessagePackSerializer.ConvertToJson(cut), Is.EqualTo(vector.Value));
            }
        }

        Assert.That(Message.Hex(MessagePackSerializer.ConvertFromJson(vector.Value)), Is.EqualTo(Shortest(vector)));
    }

    [TestCaseSource(nameof(Forms))]
    public void Anything_Skipped_IsLeftBehind(string form)
    {
        Message.AssertReads(form, true, (ref reader) =>
        {
            reader.Skip();
            return reader.End;
        });
        Message.AssertReads(form, Message.Bytes(form), (ref reader) => reader.ReadRaw().ToArray());
    }

    [TestCaseSource(nameof(Forms))]
    public void Anything_CutShort_IsTheEndOfTheStream(string form)
    {
        string whole = Plain(form);
        for (int length = 0; length < whole.Length; length += 2)
        {
            Message.AssertThrows<EndOfStreamException>(whole[..length], (ref reader) =>
            {
                reader.Skip();
                return null;
            });
        }
    }

    private static void AssertReadsIfHeld<T>(
        string form, BigInteger value, BigInteger smallest, BigInteger largest, ReadTokens<T> read)
    {
        if (value < smallest || value > largest)
        {
            Message.AssertThrows<OverflowException>(form, (ref reader) => read(ref reader));
        }
        else
        {
            Message.AssertReads(form, value, (ref reader) => NumberOf(read(ref reader)));
        }
    }

    private static BigInteger NumberOf<T>(T value) =>
        BigInteger.Parse(value is char c ? $"{(int)c}" : $"{value}", CultureInfo.InvariantCulture);

    private static string TextOf(ReadOnlySequence<byte> bytes) => System.Text.Encoding.UTF8.GetString(bytes.ToArray());

    private static bool IsFloat(string form) => form.StartsWith("ca", StringComparison.Ordinal)
        || form.StartsWith("cb", StringComparison.Ordinal);

    private static string Shortest(Vector vector) => Plain(vector.Forms[0]);

    private static string Plain(string form) => form.Replace("-", "", StringComparison.Ordinal);
}
