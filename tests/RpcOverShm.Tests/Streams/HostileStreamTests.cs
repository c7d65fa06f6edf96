using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Segments;
using RpcOverShm.Streams;
using RpcOverShm.Tests.Links;
using RpcOverShm.Tests.Sending;

namespace RpcOverShm.Tests.Streams;

/// <summary>
/// A byte stream whose peer breaks the rules: the user gets an IOException, and nothing else happens.
/// </summary>
public class HostileStreamTests
{
    private readonly LinkPair _links = new(purpose: ConnectionPurpose.ByteStream);
    private readonly byte[] _buffer = new byte[100];

    private static readonly Dictionary<string, RawFrame> s_frames = new()
    {
        ["message"] = new RawFrame(FrameKind.Message, new CallId(0, 1, false), Body: [1], Argument: 1),
        ["go-away"] = new RawFrame(FrameKind.GoAway),
        ["unknown kind"] = new RawFrame((FrameKind)99),
        ["bytes of a call"] = new RawFrame(FrameKind.Bytes, new CallId(0, 1, false), Body: [1]),
        ["flags"] = new RawFrame(FrameKind.Bytes, default, FrameFlags.HalfClose, null, [1]),
        ["head"] = new RawFrame(FrameKind.Bytes, default, FrameFlags.None, [1]),
        ["argument"] = new RawFrame(FrameKind.BytesEnd, Argument: 1),
        ["bytes in the end"] = new RawFrame(FrameKind.BytesEnd, Body: [1]),
    };

    private static IEnumerable<string> Frames => s_frames.Keys;

    [TearDown]
    public void Close() => _links.Dispose();

    [TestCaseSource(nameof(Frames))]
    public void Read_OfAFrameThatMayNotCome_IsAnErrorAfterTheBytesBefore(string name)
    {
        using var peer = new RawPeer(_links.Client);
        var stream = new DuplexBytes(_links.Server);
        peer.Send(new RawFrame(FrameKind.Bytes, Body: [1, 2, 3]));
        peer.Send(s_frames[name]);

        Assert.That(stream.Read(_buffer), Is.EqualTo(3));
        Assert.That(() => stream.Read(_buffer), Throws.TypeOf<IOException>().With.Message.Contains("The peer sent"));
        Assert.That(_links.Server.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation));
        stream.Close();
    }

    [Test]
    public void Read_OfAnImpossibleTail_IsAnError()
    {
        using var peer = new RawPeer(_links.Client);
        var stream = new DuplexBytes(_links.Server);
        SharedMemoryOrder.WriteFenced(ref _links.ClientSegment.Own.Tail, -16);

        Assert.That(
            () => stream.Read(_buffer),
            Throws.TypeOf<IOException>().With.InnerException.TypeOf<RingCorruptedException>());
        stream.Close();
    }

    [Test]
    public void Read_OfBytesAfterTheEnd_IsStillTheEnd()
    {
        using var peer = new RawPeer(_links.Client);
        var stream = new DuplexBytes(_links.Server);
        peer.Send(new RawFrame(FrameKind.BytesEnd));
        peer.Send(new RawFrame(FrameKind.Bytes, Body: [1]));

        Assert.That(stream.Read(_buffer), Is.Zero);
        stream.Close();
    }

    [Test]
    public void Read_OfEmptyRecords_SkipsThem()
    {
        using var peer = new RawPeer(_links.Client);
        var stream = new DuplexBytes(_links.Server);
        peer.Send(new RawFrame(FrameKind.Bytes));
        peer.Send(new RawFrame(FrameKind.Bytes));
        peer.Send(new RawFrame(FrameKind.Bytes, Body: [7]));

        Assert.That((stream.Read(_buffer), _buffer[0]), Is.EqualTo((1, (byte)7)));
        stream.Close();
    }

    [Test]
    public void Write_WithAHeadThatFlickers_IsAnErrorAndNothingElse()
    {
        // The writer reads the head once for space and once before sleeping. Each read may meet the wrong value.
        for (int i = 0; i < 30; i++)
        {
            using var flicker = new FlickeringPeer();

            Assert.That(() => flicker.Stream.Write(new byte[1 << 20]), Throws.TypeOf<IOException>());
        }
    }

    [Test]
    public void WriteAsync_WithAHeadThatFlickers_IsAnErrorAndNothingElse()
    {
        for (int i = 0; i < 30; i++)
        {
            using var flicker = new FlickeringPeer();

            Assert.That(
                async () => await flicker.Stream.WriteAsync(new byte[1 << 20], CancellationToken.None).Bounded(),
                Throws.TypeOf<IOException>());
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

    /// <summary>A stream whose peer alternates between a right and a wrong head.</summary>
    private sealed class FlickeringPeer : IDisposable
    {
        private readonly LinkPair _links = new(purpose: ConnectionPurpose.ByteStream);
        private readonly RawPeer _peer;
        private readonly TestThread _thread;

        public FlickeringPeer()
        {
            _peer = new RawPeer(_links.Server);
            Stream = new DuplexBytes(_links.Client);
            _thread = TestThread.Start("flicker", () =>
            {
                while (!_links.Client.IsClosed)
                {
                    SharedMemoryOrder.WriteFenced(ref _links.ServerSegment.Own.Head, 8);
                    Thread.SpinWait(20);
                    SharedMemoryOrder.WriteFenced(ref _links.ServerSegment.Own.Head, 0);
                    _links.Server.WakePeerForSpace();
                }
            });
        }

        public DuplexBytes Stream { get; }

        public void Dispose()
        {
            _thread.Join();
            Stream.Close();
            _peer.Dispose();
            _links.Dispose();
        }
    }
}
