using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

public class MetadataCodecTests
{
    private static readonly Vectors s_vectors = Vectors.Load("metadata.txt");

    private static readonly Dictionary<string, Metadata> s_cases = new()
    {
        ["empty"] = [],
        ["one-text"] = [new("key1", "value")],
        ["duplicates-in-order"] = [new("a", "2"), new("b", ""), new("a", "1")],
        ["binary"] = [new("a-bin", [0, 255, 10, 61]), new("b-bin", [])],
        ["every-character-of-a-key"] = [new("abcdefghijklmnopqrstuvwxyz0123456789._-", " ~")],
    };

    private static IEnumerable<string> Names => s_vectors.Names;

    [TestCaseSource(nameof(Names))]
    public void Encode_OfMetadata_IsTheVector(string name)
    {
        s_vectors.AssertIs(name, SampleMetadata.Encode(s_cases[name]));
    }

    [TestCaseSource(nameof(Names))]
    public void Decode_OfTheVector_IsTheMetadata(string name)
    {
        Metadata decoded = SampleMetadata.Decode(s_vectors[name]);

        Assert.That(SampleMetadata.Describe(decoded), Is.EqualTo(SampleMetadata.Describe(s_cases[name])));
    }

    [Test]
    public void Decode_OfWhatWasEncoded_IsTheSame()
    {
        Random random = TestSeed.NewRandom();
        for (int i = 0; i < 5000; i++)
        {
            Metadata metadata = SampleMetadata.Random(random);

            Metadata decoded = SampleMetadata.Decode(SampleMetadata.Encode(metadata));

            Assert.That(SampleMetadata.Describe(decoded), Is.EqualTo(SampleMetadata.Describe(metadata)));
        }
    }

    // The list has room for a power of two of entries, so what is measured is what is kept.
    [TestCase(0)]
    [TestCase(1)]
    [TestCase(9)]
    [TestCase(1000)]
    public void MeasureKeptBytes_OfReceivedMetadata_CoversItsObjects(int valueBytes)
    {
        var sent = new Metadata();
        for (int i = 0; i < 1024; i++)
        {
            sent.Add($"{(char)('a' + (i % 26))}", new string('v', valueBytes));
        }

        byte[] block = SampleMetadata.Encode(sent);
        _ = SampleMetadata.Decode(block);
        long before = GC.GetAllocatedBytesForCurrentThread();
        Metadata received = SampleMetadata.Decode(block);
        long taken = GC.GetAllocatedBytesForCurrentThread() - before;

        Assert.That(MetadataCodec.MeasureKeptBytes(received), Is.InRange(taken, 2 * taken));
    }

    [Test]
    public void Decode_OfEveryByteInAKey_TakesOnlyThoseOfKeys() => AssertTaken(
        value => "abcdefghijklmnopqrstuvwxyz0123456789._-".Contains((char)value),
        value => [1, 0, 1, 0, value, 0, 0, 0, 0],
        entry => entry.Key);

    [Test]
    public void Decode_OfEveryByteInAText_TakesOnlyPrintableAscii() => AssertTaken(
        value => value is >= 0x20 and <= 0x7E,
        value => [1, 0, 1, 0, (byte)'k', 1, 0, 0, 0, value],
        entry => entry.Value);

    [Test]
    public void Decode_OfAnEmptyKey_IsTheProtocolsFault()
    {
        Assert.That(() => SampleMetadata.Decode([1, 0, 0, 0, 0, 0, 0, 0]), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void Decode_OfMoreEntriesThanThereAre_IsTheProtocolsFault()
    {
        byte[] block = s_vectors["one-text"];
        block[0] = 0xFF;
        block[1] = 0xFF;

        Assert.That(() => SampleMetadata.Decode(block), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void Decode_OfAnAbsurdLength_AllocatesNothingForIt()
    {
        byte[] block = [1, 0, 5, 0, .. "a-bin"u8, 0xFF, 0xFF, 0xFF, 0x7F];
        _ = Assert.Throws<ProtocolException>(() => SampleMetadata.Decode(block));
        long before = GC.GetAllocatedBytesForCurrentThread();

        _ = Assert.Throws<ProtocolException>(() => SampleMetadata.Decode(block));

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(1 << 20));
    }

    // Decoded in full, these entries would take more than three megabytes and some milliseconds.
    [Test]
    public void Decode_OfFarMoreEntriesThanTheLimitAllows_AllocatesNothing()
    {
        const int Limit = 64 << 10;
        byte[] block = SampleMetadata.Block(46_000);
        _ = IsTaken(block, Limit);
        long before = GC.GetAllocatedBytesForCurrentThread();

        bool isTaken = IsTaken(block, Limit);

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.Zero);
        Assert.That(isTaken, Is.False);
    }

    // Whether the library's own entry counts is for the caller to know, so a block with one must be read.
    [TestCase(0, true)]
    [TestCase(1, false)]
    public void Decode_OfMoreThanTheLimitAndTheLibrarysBytes_ReadsNothing(int more, bool isTaken)
    {
        Metadata metadata = [new("first", "1"), new("last-bin", new byte[1000 + more])];
        long limit = MetadataCodec.MeasureBytes(metadata) - more - MetadataCodec.LibraryBytes;

        Assert.That(IsTaken(SampleMetadata.Encode(metadata), limit), Is.EqualTo(isTaken));
    }

    [Test]
    public void Check_OfLegalMetadata_IsNull()
    {
        Assert.That(s_cases.Values.Select(MetadataCodec.Check), Is.All.Null);
    }

    [TestCase("tab\t")]
    [TestCase("line\n")]
    [TestCase("\u007F")]
    [TestCase("ü")]
    [TestCase("\U0001F600")]
    [TestCase("\0")]
    public void Check_OfATextBeyondPrintableAscii_NamesTheKey(string value)
    {
        Assert.That(MetadataCodec.Check([new("my-key", value)]), Does.Contain("'my-key'"));
    }

    [Test]
    public void Check_OfTooLongAKey_SaysSo()
    {
        Assert.That(MetadataCodec.Check([new(new string('k', 65536), "v")]), Does.Contain("65536"));
        Assert.That(MetadataCodec.Check([new(new string('k', 65535), "v")]), Is.Null);
    }

    [Test]
    public void Check_OfTooManyEntries_SaysSo()
    {
        Metadata metadata = [.. Enumerable.Repeat(new Metadata.Entry("k", "v"), 65536)];

        Assert.That(MetadataCodec.Check(metadata), Does.Contain("65536"));
    }

    [Test]
    public void MeasureBytes_OfEntries_CountsKeyValueAnd32()
    {
        Assert.That(MetadataCodec.MeasureBytes([]), Is.Zero);
        Assert.That(
            MetadataCodec.MeasureBytes([new("key", "value"), new("a-bin", [1, 2])]),
            Is.EqualTo(3 + 5 + 32 + 5 + 2 + 32));
    }

    private static bool IsTaken(byte[] block, long limitBytes)
    {
        var from = new WireReader(block);
        Metadata? metadata = MetadataCodec.Decode(ref from, limitBytes);
        from.End("a block of metadata");
        return metadata is not null;
    }

    private static void AssertTaken(
        Func<byte, bool> isTaken, Func<byte, byte[]> block, Func<Metadata.Entry, string> shown)
    {
        foreach (byte value in Enumerable.Range(0, 256).Select(value => (byte)value))
        {
            Assert.That(
                () => shown(SampleMetadata.Decode(block(value))[0]),
                isTaken(value) ? Is.EqualTo($"{(char)value}") : Throws.TypeOf<ProtocolException>(),
                $"byte {value}");
        }
    }
}
