using System.IO.Compression;
using Google.Protobuf;
using RpcOverShm.Buffers;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;
using CompressionLevel = System.IO.Compression.CompressionLevel;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>Encoded messages that are truncated, not smaller than their content, or wrongly marked.</summary>
internal sealed class EncodedBytesTests() : RigFixture(RigKind.Shm)
{
    private const string Wanted = "grpc-internal-encoding-request";
    private const int DefaultLimit = 4 << 20;
    private const byte Plain = 0;
    private const byte Compressed = 1;

    private static CallOptions Gzip => new(new Metadata { { Wanted, "gzip" } });

    [Test]
    public async Task Message_CutShortAnywhere_IsInternal_AndTheNextOneTaken()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using RawPeer client = await RawPeer.ConnectAsync(rig.Place);
        byte[] whole = GzipOf(Payloads.OfSize(300).ToByteArray());
        uint number = 1;

        for (int length = 0; length < whole.Length; length++)
        {
            StatusTrailer end = await client.CallAsync(number++, "gzip", [Compressed, .. whole.AsSpan(0, length)]);
            Assert.That(end.Status.StatusCode, Is.EqualTo(StatusCode.Internal), $"{length} bytes of {whole.Length}");
        }

        StatusTrailer longer = await client.CallAsync(number++, "gzip", [Compressed, .. whole, 0]);
        StatusTrailer right = await client.CallAsync(number, "gzip", [Compressed, .. whole]);
        Assert.That(longer.Status.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(right.Status.StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task Message_ThatDoesNotBecomeSmaller_GoesAsItIs_AndWithinItsLimit()
    {
        bool? wasCompressed = null;
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, context) =>
                {
                    wasCompressed = ((ShmServerCallContext)context).IsLastRequestCompressed;
                    return Task.FromResult(request);
                },
            },
            new RigOptions { ResponseCompression = "gzip" });
        byte[] noise = new byte[DefaultLimit - 100];
        new Random(14).NextBytes(noise);
        var request = new Payload { Data = ByteString.CopyFrom(noise) };

        Payload answer = await rig.Client.UnaryAsync(request, Gzip).ResponseAsync.Bounded();

        SameBytes.Assert(answer.Data.Span, noise);
        Assert.That(wasCompressed, Is.False);
    }

    [Test]
    public async Task MetadataLimitOfNone_StillTakesCompressedAnswers()
    {
        ShmRig rig = await StartShmAsync(
            new Script(), new RigOptions { ClientMaxMetadata = 0, ResponseCompression = "gzip" });

        Payload answer = await rig.Client.UnaryAsync(Payloads.OfSize(10_000)).ResponseAsync.Bounded();

        Assert.That(answer.IsOfSize(10_000));
    }

    [TestCase("identity", Plain, StatusCode.OK)]
    [TestCase("identity", Compressed, StatusCode.Internal)]
    [TestCase("gzip", Plain, StatusCode.OK)]
    [TestCase("gzip", Compressed, StatusCode.OK)]
    [TestCase("gzip", (byte)2, StatusCode.Internal)]
    public async Task Response_OfAnEncoding_IsReadByItsMark(string encoding, byte mark, StatusCode expected)
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var listener = new RawServer(rig.Place);
        Task<Payload> call = rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync;
        using RawPeer server = await listener.AcceptCallAsync();
        byte[] message = RawFrames.Message(new string('a', 500));
        using var headers = new PooledBufferWriter();
        MetadataCodec.Encode(headers, new Metadata { { "grpc-encoding", encoding } });

        server.Send(FrameKind.Headers, RawFrames.First, head: headers.WrittenSpan.ToArray());
        server.Send(
            FrameKind.End,
            RawFrames.First,
            FrameFlags.HasMessage,
            RawFrames.Trailer(StatusCode.OK, ""),
            [mark, .. mark == Compressed ? GzipOf(message) : message]);

        StatusCode found = expected == StatusCode.OK
            ? (await call.Bounded()).Text().Length == 500 ? StatusCode.OK : StatusCode.DataLoss
            : (await FailureOf(call)).StatusCode;
        Assert.That(found, Is.EqualTo(expected));
    }

    private static byte[] GzipOf(byte[] bytes)
    {
        using var result = new MemoryStream();
        using (var gzip = new GZipStream(result, CompressionLevel.SmallestSize))
        {
            gzip.Write(bytes);
        }

        return result.ToArray();
    }
}
