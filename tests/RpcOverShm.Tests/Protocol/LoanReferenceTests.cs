using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

/// <summary>The bytes of references, returned pieces and notices of files, and those that are not allowed.</summary>
public class LoanReferenceTests
{
    [Test]
    public void Reference_Encoded_IsTheBytesOfThePage()
    {
        byte[] bytes = new byte[LoanReference.SizeBytes];
        var reference = new LoanReference(File: 1, Block: 0x0203, Length: 0x01000000);

        reference.Encode(bytes);

        Assert.That(Convert.ToHexString(bytes), Is.EqualTo("01000000030200000000000100000000"));
        Assert.That(LoanReference.Decode([.. bytes, 9]), Is.EqualTo(reference), "Bytes of the message follow.");
    }

    [TestCase("0100000003020000000000010000", "14 bytes")]
    [TestCase("01000000030200000000000000000000", "0 bytes")]
    [TestCase("01000000030200000000008000000000", "2147483648 bytes")]
    [TestCase("01000000030200000100000001000000", "a field 1")]
    public void Reference_ThatIsNotAllowed_SaysWhy(string bytes, string problem) => Assert.That(
        () => LoanReference.Decode(Convert.FromHexString(bytes)),
        Throws.TypeOf<ProtocolException>().With.Message.Contains(problem));

    [Test]
    public void ReturnedPiece_Encoded_IsTheBytesOfThePage()
    {
        byte[] bytes = new byte[ReturnedPiece.SizeBytes];
        var piece = new ReturnedPiece(File: 2, Block: 0x01020304);

        piece.Encode(bytes);

        Assert.That(Convert.ToHexString(bytes), Is.EqualTo("0200000004030201"));
        Assert.That(ReturnedPiece.Decode(bytes), Is.EqualTo(piece));
    }

    [Test]
    public void Notice_Encoded_IsTheBytesOfThePage()
    {
        byte[] bytes = new byte[FileNotice.EncodedBytes];
        var notice = new FileNotice(Number: 3, SizeBytes: 1 << 20);

        notice.Encode(bytes);

        Assert.That(Convert.ToHexString(bytes), Is.EqualTo("02000000030000000000100000000000"));
        Assert.That(FileNotice.Decode(bytes), Is.EqualTo(notice));
    }

    [TestCase("02000001030000000000100000000000")]
    [TestCase("02000000030000000000000000000000")]
    [TestCase("02000000030000000100100000000000")]
    [TestCase("02000000030000000000014000000000")]
    [TestCase("020000000300000000000000000000FF")]
    public void Notice_ThatIsNotAllowed_SaysWhatIs(string bytes) => Assert.That(
        () => FileNotice.Decode(Convert.FromHexString(bytes)),
        Throws.TypeOf<ProtocolException>().With.Message.Contains("multiples of 65536"));
}
