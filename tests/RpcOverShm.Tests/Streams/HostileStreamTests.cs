using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Streams;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Streams;

/// <summary>
/// A byte stream whose peer breaks the rules: the user gets an IOException, and nothing else happens.
/// </summary>
public class HostileStreamTests
{
    private readonly LinkPair _links = new(purpose: ConnectionPurpose.ByteStream);
    private readonly byte[] _buffer = new byte[100];
    private RawPeer _peer = null!;
    private DuplexBytes _stream = null!;

    private static readonly Dictionary<string, RawFrame> s_frames = new()
    {
        ["message"] = new RawFrame(FrameKind.Message, new CallId(0, 1, false), Body: [1], Argument: 1),
        ["go-away"] = new RawFrame(FrameKind.GoAway),
        ["unknown kind"] = new RawFrame((FrameKind)99),
        ["bytes of a call"] = new RawFrame(FrameKind.Bytes, new CallId(0, 1, false), Body: [1]),
        ["flags"] = new RawFrame(FrameKind.Bytes, default, FrameFlags.HalfClose, null, [1]),
        ["head"] = new RawFrame(FrameKind.Bytes, default, FrameFlags.None, [1]),
        ["argument"] = new RawFrame(FrameKind.BytesEnd, Argument: 1),
        ["bytes without any"] = new RawFrame(FrameKind.Bytes),
        ["bytes in the end"] = new RawFrame(FrameKind.BytesEnd, Body: [1]),
    };

    private static IEnumerable<string> Frames => s_frames.Keys;

    [SetUp]
    public void Open()
    {
        _peer = new RawPeer(_links.Client);
        _stream = new DuplexBytes(_links.Server);
    }

    [TearDown]
    public void Close()
    {
        _stream.Close();
        _peer.Dispose();
        _links.Dispose();
    }

    [TestCaseSource(nameof(Frames))]
    public void Read_OfAFrameThatMayNotCome_IsAnErrorAfterTheBytesBefore(string name)
    {
        _peer.Send(new RawFrame(FrameKind.Bytes, Body: [1, 2, 3]));
        _peer.Send(s_frames[name]);

        Assert.That(_stream.Read(_buffer), Is.EqualTo(3));
        Assert.That(
            () => _stream.ReadAsync(_buffer, CancellationToken.None).AsTask().Bounded(),
            Throws.TypeOf<IOException>().With.Message.Contains("The peer sent"));
        Assert.That(_links.Server.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation));
    }

    [Test]
    public void Read_OfAnImpossibleTail_IsAnError()
    {
        SharedMemoryOrder.WriteFenced(ref _links.ClientSegment.Own.Tail, -16);

        Assert.That(
            () => _stream.Read(_buffer),
            Throws.TypeOf<IOException>().With.InnerException.TypeOf<RingCorruptedException>());
    }

    // Nothing behind the end is read, whatever it is.
    [TestCaseSource(nameof(Frames))]
    public void Read_AfterTheEnd_IsStillTheEnd(string name)
    {
        _peer.Send(new RawFrame(FrameKind.BytesEnd));
        _peer.Send(s_frames[name]);
        _peer.Send(new RawFrame(FrameKind.Bytes, Body: [1]));

        Assert.That((_stream.Read(_buffer), _stream.Read(_buffer)), Is.EqualTo((0, 0)));
        Assert.That(_links.Server.CloseReason, Is.Null);
    }

    [Test]
    public void Write_AfterTheEndOfThePeersBytes_ReachesIt()
    {
        _peer.Send(new RawFrame(FrameKind.BytesEnd));
        Assert.That(_stream.Read(_buffer), Is.Zero);

        _stream.Write([1, 2, 3]);

        Assert.That(_peer.Receive().Body, Is.EqualTo((byte[])[1, 2, 3]));
    }

    [Test]
    public void Write_WithAHeadThatFlickers_IsAnErrorAndNothingElse([Values] bool isBlocking)
    {
        // The writer reads the head once for space and once before sleeping. Each read may meet the wrong value.
        for (int i = 0; i < 30; i++)
        {
            using var streams = new StreamPair();
            TestThread flicker = streams.Links.FlickerHead();

            Assert.That(
                () => streams.One.WriteAllAsync(new byte[1 << 20], isBlocking).Bounded(), Throws.TypeOf<IOException>());
            flicker.Join();
        }
    }

    [Test]
    public void Close_WithAHeadThatMakesNoSense_ClosesAllTheSame()
    {
        int mappings = ProcessResources.CountSegmentMappings();
        var links = new LinkPair(purpose: ConnectionPurpose.ByteStream);
        var peer = new RawPeer(links.Server);
        var stream = new DuplexBytes(links.Client);
        ValueTask write = stream.WriteAsync(new byte[1 << 20], CancellationToken.None);
        while (links.Client.Writer.TryClaim(0, isControl: true, out RingClaim claim))
        {
            // Fills the reserve too, so that the end of the stream has to read the head.
            links.Client.Writer.Commit(claim, new RecordHeader(0, (byte)FrameKind.Bytes, 0, 0, 0, 0));
        }

        SharedMemoryOrder.WriteFenced(ref links.ServerSegment.Own.Head, 8);
        Assert.That(stream.Close, Throws.Nothing);

        Assert.That(links.Client.IsClosed);
        Assert.That(async () => await write.Bounded(), Throws.Exception);
        peer.Dispose();
        links.Dispose();

        // Possibly fewer: threads of the previous test may still have been leaving.
        Assert.That(() => ProcessResources.CountSegmentMappings(), Is.LessThanOrEqualTo(mappings).After(20_000, 10));
    }
}
