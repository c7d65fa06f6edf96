using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

/// <summary>
/// Every block of golden bytes with each byte changed, truncated at every position, and changed at random. Decoding
/// either succeeds or fails as a protocol error, and allocates no more than a multiple of the input's length.
/// </summary>
public class MalformedInputTests
{
    private const int UsualCount = 200_000;

    // The cost of an exception, and the cost per byte of input: an entry of metadata has at least seven bytes.
    private const int BytesAtLeast = 16 << 10;
    private const int BytesForEachByte = 64;

    private delegate bool Reading(ReadOnlySpan<byte> bytes);

    private static readonly Dictionary<string, Reading> s_readings = new()
    {
        ["hello.txt"] = ReadHello,
        ["heads.txt"] = bytes => Read(bytes, static bytes => RequestHead.Decode(bytes)),
        ["trailers.txt"] = bytes => Read(bytes, static bytes => StatusTrailer.Decode(bytes)),
        ["metadata.txt"] = bytes => Read(bytes, static bytes => SampleMetadata.Decode(bytes)),
    };

    private delegate void Decoding(ReadOnlySpan<byte> bytes);

    private static IEnumerable<string> Files => s_readings.Keys;

    [TestCaseSource(nameof(Files))]
    public void Decode_OfEverySingleByteChanged_IsReadOrTheProtocolsFault(string file)
    {
        int read = 0;
        int refused = 0;
        foreach (byte[] vector in Vectors.Load(file).All)
        {
            for (int place = 0; place < vector.Length; place++)
            {
                for (int change = 1; change < 256; change++)
                {
                    byte[] bytes = [.. vector];
                    bytes[place] ^= (byte)change;
                    bool isRead = s_readings[file](bytes);
                    read += isRead ? 1 : 0;
                    refused += isRead ? 0 : 1;
                }
            }
        }

        Assert.That(read, Is.Positive);
        Assert.That(refused, Is.Positive);
    }

    [TestCaseSource(nameof(Files))]
    public void Decode_OfEveryTruncation_IsReadOrTheProtocolsFault(string file)
    {
        foreach (byte[] vector in Vectors.Load(file).All)
        {
            Assert.That(s_readings[file](vector), "The vector itself is well formed.");
            for (int length = 0; length < vector.Length; length++)
            {
                bool isRead = s_readings[file](vector.AsSpan(0, length));

                // An empty trailer is a plain OK; every other block needs all of its bytes.
                Assert.That(
                    isRead, Is.EqualTo(length == 0 && file == "trailers.txt"), $"{length} of {vector.Length} bytes");
            }
        }
    }

    [TestCaseSource(nameof(Files))]
    public void Decode_OfRandomChanges_IsReadOrTheProtocolsFault(string file)
    {
        Random random = TestSeed.NewRandom();
        byte[][] vectors = [.. Vectors.Load(file).All.Where(vector => vector.Length > 0)];
        int read = 0;
        foreach (int _ in FuzzInputs.Numbers(UsualCount))
        {
            byte[] one = vectors[random.Next(vectors.Length)];
            byte[] other = vectors[random.Next(vectors.Length)];
            byte[] bytes = [.. one[..random.Next(one.Length + 1)], .. other[random.Next(other.Length)..]];
            for (int change = random.Next(4); change > 0 && bytes.Length > 0; change--)
            {
                bytes[random.Next(bytes.Length)] = (byte)random.Next(256);
            }

            long before = GC.GetAllocatedBytesForCurrentThread();
            read += s_readings[file](bytes) ? 1 : 0;
            long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
            if (allocated > BytesAtLeast + ((long)BytesForEachByte * bytes.Length))
            {
                Assert.Fail($"{bytes.Length} bytes became {allocated}: {Convert.ToHexStringLower(bytes)}");
            }
        }

        int count = FuzzInputs.Count(UsualCount);
        Console.WriteLine($"{count} inputs, {count - read} refused");
    }

    [Test]
    public void WireReader_OfEveryFieldBeyondTheEnd_IsTheProtocolsFault()
    {
        Assert.That(() => new WireReader([]).ReadByte(), Throws.TypeOf<ProtocolException>());
        Assert.That(() => new WireReader([1]).ReadUInt16(), Throws.TypeOf<ProtocolException>());
        Assert.That(() => new WireReader([1, 2, 3]).ReadUInt32(), Throws.TypeOf<ProtocolException>());
        Assert.That(() => new WireReader(new byte[7]).ReadInt64(), Throws.TypeOf<ProtocolException>());
        Assert.That(() => new WireReader([1]).ReadBytes(2).Length, Throws.TypeOf<ProtocolException>());
        Assert.That(() => new WireReader([1]).ReadBytes(uint.MaxValue).Length, Throws.TypeOf<ProtocolException>());
        Assert.That(() => new WireReader([2, 0, 65]).ReadShortText(), Throws.TypeOf<ProtocolException>());
        Assert.That(() => new WireReader([2, 0, 0, 0, 65]).ReadLongText(), Throws.TypeOf<ProtocolException>());
    }

    // As the handshake does: the length first, then the whole message.
    private static bool ReadHello(ReadOnlySpan<byte> bytes)
    {
        bool isComplete = false;
        bool isRead = Read(bytes, bytes =>
        {
            isComplete = Hello.PeekLength(bytes) is { } length && length <= bytes.Length;
            if (isComplete)
            {
                Hello.Decode(bytes[..Hello.PeekLength(bytes)!.Value]);
            }
        });
        return isRead && isComplete;
    }

    private static bool Read(ReadOnlySpan<byte> bytes, Decoding decode)
    {
        try
        {
            decode(bytes);
            return true;
        }
        catch (ProtocolException)
        {
            return false;
        }
    }
}
