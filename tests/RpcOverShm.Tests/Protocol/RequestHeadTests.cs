using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

public class RequestHeadTests
{
    private static readonly Vectors s_vectors = Vectors.Load("heads.txt");

    private static readonly ParentCall s_parent =
        new(Guid.Parse("00010203-0405-0607-0809-0a0b0c0d0e0f"), new CallId(5, 1, isFromAcceptor: false));

    private static readonly Dictionary<string, Head> s_cases = new()
    {
        ["smallest"] = new Head("/a/b"),
        ["timeout"] = new Head("/a/b", TimeSpan.FromSeconds(1)),
        ["codec-and-host"] = new Head("/a/b", Codec: "msgpack", Host: "d.e"),
        ["encoding"] = new Head("/a/b", Encoding: "gzip"),
        ["parent"] = new Head("/a/b", Parent: s_parent),
        ["handles"] = new Head("/a/b", Handles: 7),
        ["everything"] = new Head(
            "/a/b", TimeSpan.FromTicks(1), "c", "h", "e", [new Metadata.Entry("k", "v")], s_parent, Handles: 1 << 16),
    };

    private static IEnumerable<string> Names => s_vectors.Names;

    [TestCaseSource(nameof(Names))]
    public void Encode_OfAHead_IsTheVector(string name)
    {
        s_vectors.AssertIs(name, s_cases[name].Encode());
    }

    [TestCaseSource(nameof(Names))]
    public void Decode_OfTheVector_IsTheHead(string name)
    {
        Assert.That(Head.Decode(s_vectors[name]).Describe(), Is.EqualTo(s_cases[name].Describe()));
    }

    [Test]
    public void Decode_OfWhatWasEncoded_IsTheSame()
    {
        Random random = TestSeed.NewRandom();
        for (int i = 0; i < 5000; i++)
        {
            var head = new Head(
                "/" + new string('m', random.Next(300)),
                random.Next(2) == 0 ? null : TimeSpan.FromTicks(1 + random.NextInt64(long.MaxValue / 8)),
                random.Next(2) == 0 ? null : "kodak-ü",
                random.Next(2) == 0 ? null : new string('h', random.Next(100)),
                random.Next(2) == 0 ? null : "gzip",
                random.Next(2) == 0 ? null : SampleMetadata.Random(random),
                random.Next(2) == 0 ? null : new ParentCall(Guid.NewGuid(), new CallId((uint)random.Next())),
                random.Next(2) == 0 ? 0 : random.NextInt64());

            Assert.That(Head.Decode(head.Encode()).Describe(), Is.EqualTo(head.Describe()));
        }
    }

    [TestCase(0L)]
    [TestCase(-1L)]
    [TestCase(long.MinValue)]
    [TestCase(long.MaxValue)]
    [TestCase(long.MaxValue / 4)]
    public void Decode_OfAnImpossibleTimeout_IsNoTimeout(long ticks)
    {
        byte[] bytes = s_vectors["timeout"];
        BitConverter.TryWriteBytes(bytes.AsSpan(^8), ticks);

        Assert.That(Head.Decode(bytes).Timeout, Is.Null);
    }

    [Test]
    public void Decode_OfTheLongestTimeout_CanBeAddedToAnyClock()
    {
        byte[] bytes = s_vectors["timeout"];
        BitConverter.TryWriteBytes(bytes.AsSpan(^8), (long.MaxValue / 4) - 1);

        TimeSpan timeout = Head.Decode(bytes).Timeout!.Value;

        Assert.That(() => TimeSpan.MaxValue - timeout - timeout - timeout, Throws.Nothing);
    }

    [Test]
    public void Decode_OfUnknownFlags_IsTheProtocolsFault([Values(128)] int flag)
    {
        byte[] bytes = s_vectors["smallest"];
        bytes[0] = (byte)flag;

        Assert.That(() => Head.Decode(bytes), Throws.TypeOf<ProtocolException>().With.Message.Contains("flags"));
    }

    [Test]
    public void Decode_OfSurplusBytes_IsTheProtocolsFault()
    {
        Assert.That(
            () => Head.Decode([.. s_vectors["everything"], 0]),
            Throws.TypeOf<ProtocolException>().With.Message.Contains("1 bytes too many"));
    }

    [Test]
    public void Decode_OfAnEmptyMethod_IsLeftToTheServer()
    {
        Assert.That(Head.Decode([0, 0, 0]).Method, Is.Empty);
    }

    /// <summary>A copy of a head on the heap; the product's is a ref struct.</summary>
    private sealed record Head(
        string Method,
        TimeSpan? Timeout = null,
        string? Codec = null,
        string? Host = null,
        string? Encoding = null,
        Metadata? Metadata = null,
        ParentCall? Parent = null,
        long Handles = 0)
    {
        public static Head Decode(byte[] bytes)
        {
            RequestHead head = RequestHead.Decode(bytes);
            string method = System.Text.Encoding.UTF8.GetString(head.Method);
            return new Head(
                method,
                head.Timeout,
                head.Codec,
                head.Host,
                head.Encoding,
                head.Metadata,
                head.Parent,
                head.Handles);
        }

        public byte[] Encode()
        {
            using var writer = new PooledBufferWriter();
            new RequestHead
            {
                Method = System.Text.Encoding.UTF8.GetBytes(Method),
                Timeout = Timeout,
                Codec = Codec,
                Host = Host,
                Encoding = Encoding,
                Metadata = Metadata,
                Parent = Parent,
                Handles = Handles,
            }.Encode(writer);
            return writer.WrittenSpan.ToArray();
        }

        public string Describe() =>
            $"{Method} {Timeout?.Ticks} {Codec} {Host} {Encoding} {SampleMetadata.Describe(Metadata)} {Parent} "
            + $"{Handles}";
    }
}
