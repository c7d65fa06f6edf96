using System.IO.Compression;
using System.Text;
using Google.Protobuf;
using RpcOverShm.Buffers;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;
using CompressionLevel = System.IO.Compression.CompressionLevel;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>The bytes of encoded messages: what is not whole, not smaller, or not marked as it is.</summary>
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
        using RawPeer client = await RawPeer.ConnectAsync(rig.SocketPath);
        byte[] whole = GzipOf(Payloads.OfSize(300).ToByteArray());
        uint number = 1;

        for (int length = 0; length < whole.Length; length++)
        {
            StatusTrailer end = await CallRawAsync(client, number++, [Compressed, .. whole.AsSpan(0, length)]);
            Assert.That(end.Status.StatusCode, Is.EqualTo(StatusCode.Internal), $"{length} bytes of {whole.Length}");
        }

        StatusTrailer longer = await CallRawAsync(client, number++, [Compressed, .. whole, 0]);
        StatusTrailer right = await CallRawAsync(client, number, [Compressed, .. whole]);
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

        Assert.That(answer, Is.EqualTo(request));
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
        using var directory = new TestDirectory();
        using var listener = new RawServer(directory.Combine("encoded.sock"));
        await using var channel = ShmChannel.ForAddress(
            "shm://encoded", new ShmChannelOptions { RuntimeDirectory = directory.Path });
        Task<Payload> call = new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Empty).ResponseAsync;
        using RawPeer server = await listener.AcceptAsync();
        await server.ReceiveAsync(FrameKind.CallStart);
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

    [Test]
    public void Level_ThatIsNone_IsRefused() => Assert.That(
        () => new ShmServer("shm://x", new ShmServerOptions { ResponseCompressionLevel = (CompressionLevel)99 }),
        Throws.TypeOf<ArgumentOutOfRangeException>().With.Message.Contains("ResponseCompressionLevel"));

    private static byte[] GzipOf(byte[] bytes)
    {
        using var result = new MemoryStream();
        using (var gzip = new GZipStream(result, CompressionLevel.SmallestSize))
        {
            gzip.Write(bytes);
        }

        return result.ToArray();
    }

    private static async Task<StatusTrailer> CallRawAsync(RawPeer client, uint number, byte[] message)
    {
        using var head = new PooledBufferWriter();
        new RequestHead
        {
            Method = Encoding.UTF8.GetBytes(Script.UnaryMethod.FullName),
            Encoding = "gzip",
        }.Encode(head);
        client.Send(
            FrameKind.CallStart,
            new CallId(0, number, isFromAcceptor: false),
            FrameFlags.HasMessage | FrameFlags.HalfClose,
            head.WrittenSpan.ToArray(),
            message);
        RawFrame end = await client.ReceiveAsync(FrameKind.End);
        return StatusTrailer.Decode(end.Head);
    }
}
