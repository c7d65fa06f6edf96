using System.Buffers;
using System.Collections;
using System.Numerics;
using System.Text;
using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Values;

/// <summary>.NET's own values: what they are written as, and that they come back.</summary>
public class ScalarTests
{
    private static readonly Guid s_guid = new("01234567-89ab-cdef-0123-456789abcdef");

    private static IEnumerable<TestCaseData> Scalars()
    {
        yield return Case(true, "c3");
        yield return Case((byte)200, "ccc8");
        yield return Case((sbyte)-100, "d09c");
        yield return Case((short)-1000, "d1fc18");
        yield return Case((ushort)60000, "cdea60");
        yield return Case(100000, "ce000186a0");
        yield return Case(4000000000u, "ceee6b2800");
        yield return Case(-5000000000L, "d3fffffffed5fa0e00");
        yield return Case(ulong.MaxValue, "cfffffffffffffffff");
        yield return Case(1.5f, "ca3fc00000");
        yield return Case(1.5, "cb3ff8000000000000");
        yield return Case('x', "78");
        yield return Case("text", "a474657874");
        yield return Case(new byte[] { 1, 2 }, "c4020102");
        yield return Case(Nil.Default, "c0");
        yield return Case(new DateTime(2020, 1, 2, 3, 4, 5, DateTimeKind.Utc), "d6ff5e0d5da5");
        yield return Case(new TimeSpan(123456789), "ce075bcd15");
        yield return Case(
            new DateTimeOffset(2020, 1, 2, 3, 4, 5, TimeSpan.FromHours(-2)), "92d6ff5e0d5da5d088");
        yield return Case(12.50m, "a531322e3530");
        yield return Case(-0.0000001m, "aa" + Convert.ToHexStringLower("-0.0000001"u8));
        yield return Case(s_guid, "d924" + Convert.ToHexStringLower(Encoding.ASCII.GetBytes(s_guid.ToString())));
        yield return Case(new Uri("http://a/b?c"), "ac" + Convert.ToHexStringLower("http://a/b?c"u8));
        yield return Case(new Version(1, 2, 3, 4), "a7" + Convert.ToHexStringLower("1.2.3.4"u8));
        yield return Case(new BigInteger(-300), "c402d4fe");
        yield return Case(new Complex(1, -1), "92cb3ff0000000000000cbbff0000000000000");
        yield return Case(Colour.Green, "cd012c");
        yield return Case(Colour.Negative, "d2fffeee90");
        yield return Case(SmallColour.Last, "ccff");
        yield return Case(LargeColour.Last, "cfffffffffffffffff");
        yield return Case((Colour)77, "4d");
        yield return Case((int?)5, "05");
        yield return Case((int?)null, "c0");
        yield return Case((Colour?)Colour.Red, "01");
        yield return Case((DateTime?)null, "c0");
        yield return Case((string?)null, "c0");
        yield return Case((byte[]?)null, "c0");
        yield return Case((Uri?)null, "c0");
    }

    [TestCaseSource(nameof(Scalars))]
    public void Scalar_Serialized_HasItsBytesAndComesBack(object copy, object expected, string written, string bytes)
    {
        Assert.That(written, Is.EqualTo(bytes));
        Assert.That(copy, Is.EqualTo(expected));
    }

    [Test]
    public void Enums_OfEveryUnderlyingType_AreWrittenAsThat()
    {
        Assert.That(Message.Serialized(Signed8.Lowest), Is.EqualTo("d080"));
        Assert.That(Message.Copied(Signed8.Lowest), Is.EqualTo(Signed8.Lowest));
        Assert.That(Message.Serialized(Signed64.Lowest), Is.EqualTo("d38000000000000000"));
        Assert.That(Message.Copied(Signed64.Lowest), Is.EqualTo(Signed64.Lowest));
        Assert.That(
            () => Message.Deserialized<SmallColour>("cd0100"), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Nil_ComparedWithItself_IsEqual()
    {
        Assert.That(Nil.Default == default && Nil.Default.Equals((object)default(Nil)), Is.True);
        Assert.That(Nil.Default != default || Nil.Default.Equals("nil"), Is.False);
        Assert.That(Nil.Default.ToString(), Is.EqualTo("()"));
        Assert.That(Nil.Default.GetHashCode(), Is.EqualTo(default(Nil).GetHashCode()));
    }

    [Test]
    public void Text_BeingBuilt_ComesBack()
    {
        Assert.That(Message.Serialized(new StringBuilder("ab")), Is.EqualTo("a26162"));
        Assert.That(Message.Copied(new StringBuilder("ab")).ToString(), Is.EqualTo("ab"));
    }

    [Test]
    public void Bits_OfAnArray_ComeBack()
    {
        var bits = new BitArray([true, false, true]);

        Assert.That(Message.Serialized(bits), Is.EqualTo("93c3c2c3"));
        Assert.That(Message.Copied(bits), Is.EqualTo(bits));
    }

    [Test]
    public void Bytes_InEveryWrapping_AreBinary()
    {
        byte[] bytes = [1, 2, 3];

        Assert.That(Message.Serialized(new Memory<byte>(bytes)), Is.EqualTo("c403010203"));
        Assert.That(Message.Serialized(new ReadOnlyMemory<byte>(bytes)), Is.EqualTo("c403010203"));
        Assert.That(Message.Serialized(new ReadOnlySequence<byte>(bytes)), Is.EqualTo("c403010203"));
        Assert.That(Message.Serialized(new ArraySegment<byte>(bytes, 1, 2)), Is.EqualTo("c4020203"));
        Assert.That(Message.Copied(new Memory<byte>(bytes)).ToArray(), Is.EqualTo(bytes));
        Assert.That(Message.Copied(new ReadOnlyMemory<byte>(bytes)).ToArray(), Is.EqualTo(bytes));
        Assert.That(Message.Copied(new ReadOnlySequence<byte>(bytes)).ToArray(), Is.EqualTo(bytes));
        Assert.That(Message.Copied(new ArraySegment<byte>(bytes, 1, 2)).ToArray(), Is.EqualTo(bytes[1..]));
    }

    [Test]
    public void Bytes_ThatWereRead_AreTheReadersOwn()
    {
        byte[] message = Message.Bytes("c403010203");
        byte[] array = MessagePackSerializer.Deserialize<byte[]>(message);
        ReadOnlyMemory<byte> memory = MessagePackSerializer.Deserialize<ReadOnlyMemory<byte>>(message);
        ReadOnlySequence<byte> sequence = MessagePackSerializer.Deserialize<ReadOnlySequence<byte>>(message);
        message.AsSpan().Clear();

        Assert.That(array, Is.EqualTo(new byte[] { 1, 2, 3 }));
        Assert.That(memory.ToArray(), Is.EqualTo(array));
        Assert.That(sequence.ToArray(), Is.EqualTo(array));
    }

    [TestCase("a3616263", TestName = "Guid_OfThreeLetters_IsRefused")]
    [TestCase("c0", TestName = "Guid_OfNil_IsRefused")]
    [TestCase("05", TestName = "Guid_OfANumber_IsRefused")]
    public void Guid_OfAnythingElse_IsRefused(string hex)
    {
        Assert.That(() => Message.Deserialized<Guid>(hex), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [TestCase("a3616263")]
    [TestCase("c0")]
    [TestCase("a0")]
    public void Decimal_OfAnythingElse_IsRefused(string hex)
    {
        Assert.That(() => Message.Deserialized<decimal>(hex), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [TestCase("91d6ff5e0d5da5")]
    [TestCase("93d6ff5e0d5da50000")]
    [TestCase("92d6ff5e0d5da5cd7530")]
    public void DateTimeOffset_OfAnotherShape_IsRefused(string hex)
    {
        Assert.That(
            () => Message.Deserialized<DateTimeOffset>(hex), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Null_ForAValueThatCannotBe_IsRefused()
    {
        Assert.That(() => Message.Deserialized<int>("c0"), Throws.InstanceOf<MessagePackSerializationException>());
        Assert.That(() => Message.Deserialized<DateTime>("c0"), Throws.InstanceOf<MessagePackSerializationException>());
        Assert.That(() => Message.Deserialized<Colour>("c0"), Throws.InstanceOf<MessagePackSerializationException>());
    }

    private static TestCaseData Case<T>(T value, string bytes) =>
        new TestCaseData(Message.Copied(value), value, Message.Serialized(value), bytes)
            .SetArgDisplayNames(typeof(T).ToString(), $"{value}");
}
