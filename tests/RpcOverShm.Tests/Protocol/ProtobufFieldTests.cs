using System.Buffers;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

/// <summary>A field of bytes among the others of a Protobuf message, which may be malformed.</summary>
public class ProtobufFieldTests
{
    // Fields besides number 3: a varint, 64 and 32 bits, bytes, and a group with a field 3 of its own.
    private static readonly string[] s_others =
        ["0896FFFF01", "110102030405060708", "2D01020304", "2205010203041A", "331A01FF34", "F2FFFFFF0F00"];

    [TestCase("1A00", 0, 2, 0)]
    [TestCase("1A020506", 0, 2, 2)]
    [TestCase("9A00020506", 0, 3, 2)] // a tag of more bytes than it needs
    [TestCase("1A82000506", 0, 3, 2)] // a length likewise
    [TestCase("08051A0205060805", 2, 4, 2)]
    public void Find_OfAField_IsItsPlace(string hex, int start, int bytesStart, int length)
    {
        var message = new ReadOnlySequence<byte>(Convert.FromHexString(hex));

        Assert.That(ProtobufField.TryFind(message, 3, out ProtobufField field));
        Assert.That(field, Is.EqualTo(new ProtobufField(start, bytesStart, length)));
    }

    [TestCase("")]
    [TestCase("0801")]
    [TestCase("1805")] // the number with another type
    [TestCase("331A01FF34")] // in a group
    [TestCase("22031A01FF")] // in another message
    public void Find_OfNoField_IsFalse(string hex) =>
        Assert.That(
            ProtobufField.TryFind(new ReadOnlySequence<byte>(Convert.FromHexString(hex)), 3, out _), Is.False);

    [TestCase("1A01FF1A01FF", "its payload, twice")]
    [TestCase("1A02FF")]
    [TestCase("1AFFFFFFFFFFFFFFFFFF01FF")]
    [TestCase("1A")]
    [TestCase("1A80")]
    [TestCase("08FFFFFFFFFFFFFFFFFFFF01")]
    [TestCase("00")]
    [TestCase("02")]
    [TestCase("FAFFFFFF1F00")]
    [TestCase("0E")]
    [TestCase("1C")]
    [TestCase("1B")]
    [TestCase("0D010203")]
    [TestCase("0901")]
    public void Find_InAMalformedMessage_Throws(string hex, string problem = "is not Protobuf")
    {
        var message = new ReadOnlySequence<byte>(Convert.FromHexString(hex));

        Assert.That(
            () => ProtobufField.TryFind(message, 3, out _),
            Throws.TypeOf<InvalidDataException>().With.Message.Contains(problem));
    }

    [Test]
    public void Find_InDeepGroups_Ends([Values(100, 101)] int depth)
    {
        byte[] groups = [.. Enumerable.Repeat((byte)0x0B, depth), .. Enumerable.Repeat((byte)0x0C, depth)];
        bool Find() => ProtobufField.TryFind(new ReadOnlySequence<byte>(groups), 3, out _);

        if (depth == 100)
        {
            Assert.That(Find, Is.False);
        }
        else
        {
            Assert.That(Find, Throws.TypeOf<InvalidDataException>());
        }
    }

    [Test]
    public void Find_AmongRandomFields_SplitsTheMessage()
    {
        var random = new Random(7);
        for (int round = 0; round < 2000; round++)
        {
            byte[] before = Others(random);
            byte[] after = Others(random);
            byte[] data = BytePattern.Of(random.Next(300));
            using var head = new PooledBufferWriter();
            ProtobufField.WriteHead(head, 3, data.Length);
            byte[] all = [.. before, .. head.WrittenSpan, .. data, .. after];
            ReadOnlySequence<byte> message = Split(all, random.Next(1, 20));

            Assert.That(ProtobufField.TryFind(message, 3, out ProtobufField field));
            SameBytes.Assert(field.Of(message).ToArray(), data);
            SameBytes.Assert(field.Without(message).ToArray(), [.. before, .. after]);
        }
    }

    [Test]
    public void Find_InCutOrChangedBytes_NeverReadsBeyond()
    {
        var random = new Random(8);
        int found = 0;
        int refused = 0;
        for (int round = 0; round < 20_000; round++)
        {
            byte[] all = [.. Others(random), 0x1A, 2, 5, 6, .. Others(random)];
            all[random.Next(all.Length)] = (byte)random.Next(256);
            ReadOnlySequence<byte> message = Split(all[..random.Next(1, all.Length + 1)], random.Next(1, 9));
            try
            {
                if (ProtobufField.TryFind(message, 3, out ProtobufField field))
                {
                    found++;
                    Assert.That(
                        field.Of(message).Length + field.Without(message).Length, Is.LessThan(message.Length));
                }
            }
            catch (InvalidDataException)
            {
                refused++;
            }
        }

        Assert.That(found, Is.GreaterThan(1000));
        Assert.That(refused, Is.GreaterThan(1000));
    }

    private static ReadOnlySequence<byte> Split(byte[] bytes, int pieceBytes)
    {
        PooledSegment? last = null;
        foreach (byte[] piece in bytes.Chunk(pieceBytes))
        {
            last = PooledSegment.Rent(piece, piece.Length, last);
        }

        return new ReadOnlySequence<byte>(last!.First, 0, last, last.Memory.Length);
    }

    private static byte[] Others(Random random) =>
    [
        .. Enumerable.Range(0, random.Next(5))
            .SelectMany(_ => Convert.FromHexString(s_others[random.Next(s_others.Length)])),
    ];
}
