using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Protocol;

public class StatusTrailerTests
{
    private static readonly Vectors s_vectors = Vectors.Load("trailers.txt");

    private static readonly Dictionary<string, StatusTrailer> s_cases = new()
    {
        ["plain-ok"] = new StatusTrailer(Status.DefaultSuccess, null),
        ["ok-with-metadata"] = new StatusTrailer(Status.DefaultSuccess, [new Metadata.Entry("k", "v")]),
        ["not-found"] = new StatusTrailer(new Status(StatusCode.NotFound, "gone!"), null),
        ["cancelled-without-detail"] = new StatusTrailer(new Status(StatusCode.Cancelled, ""), null),
        ["unavailable-not-processed"] = new StatusTrailer(new Status(StatusCode.Unavailable, "no"), null, true),
        ["everything"] = new StatusTrailer(
            new Status(StatusCode.Unauthenticated, "ü"), [new Metadata.Entry("x-bin", [0, 1, 255])], true),
    };

    private static IEnumerable<string> Names => s_vectors.Names;

    [TestCaseSource(nameof(Names))]
    public void Encode_OfATrailer_IsTheVector(string name)
    {
        s_vectors.AssertIs(name, Encode(s_cases[name]));
    }

    [TestCaseSource(nameof(Names))]
    public void Decode_OfTheVector_IsTheTrailer(string name)
    {
        Assert.That(Describe(StatusTrailer.Decode(s_vectors[name])), Is.EqualTo(Describe(s_cases[name])));
    }

    [Test]
    public void Decode_OfWhatWasEncoded_IsTheSame()
    {
        Random random = TestSeed.NewRandom();
        for (int i = 0; i < 5000; i++)
        {
            Metadata metadata = SampleMetadata.Random(random);
            var trailer = new StatusTrailer(
                new Status((StatusCode)random.Next(17), random.Next(2) == 0 ? "" : "tab\t\r\n \U0001F600 ü\0"),
                metadata.Count == 0 ? null : metadata,
                random.Next(2) == 0);

            Assert.That(Describe(StatusTrailer.Decode(Encode(trailer))), Is.EqualTo(Describe(trailer)));
        }
    }

    [Test]
    public void Encode_OfAnUnpairedSurrogate_ReplacesIt()
    {
        var trailer = new StatusTrailer(new Status(StatusCode.Internal, "a\uD800b"), null);

        Assert.That(StatusTrailer.Decode(Encode(trailer)).Status.Detail, Is.EqualTo("a\uFFFDb"));
    }

    [Test]
    public void Encode_OfANullDetail_IsAnEmptyOne()
    {
        var trailer = new StatusTrailer(new Status(StatusCode.Aborted, null!), null);

        Assert.That(StatusTrailer.Decode(Encode(trailer)).Status, Is.EqualTo(new Status(StatusCode.Aborted, "")));
    }

    [TestCase(17)]
    [TestCase(255)]
    public void Decode_OfAnUnknownCode_IsUnknown(byte code)
    {
        Assert.That(StatusTrailer.Decode([code, 0]).Status.StatusCode, Is.EqualTo(StatusCode.Unknown));
    }

    [Test]
    public void Decode_OfUnknownFlags_IsTheProtocolsFault([Values(8, 16, 32, 64, 128)] int flag)
    {
        Assert.That(
            () => StatusTrailer.Decode([0, (byte)flag]),
            Throws.TypeOf<ProtocolException>().With.Message.Contains("flags"));
    }

    [Test]
    public void Decode_OfSurplusBytes_IsTheProtocolsFault()
    {
        Assert.That(() => StatusTrailer.Decode([0, 0, 0]), Throws.TypeOf<ProtocolException>());
    }

    private static byte[] Encode(StatusTrailer trailer)
    {
        using var writer = new PooledBufferWriter();
        trailer.Encode(writer);
        return writer.WrittenSpan.ToArray();
    }

    private static string Describe(StatusTrailer trailer) =>
        $"{trailer.Status.StatusCode} '{trailer.Status.Detail}' {trailer.IsNotProcessed} "
        + SampleMetadata.Describe(trailer.Metadata);
}
