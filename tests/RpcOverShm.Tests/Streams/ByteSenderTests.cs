using System.Buffers;
using RpcOverShm.Protocol;
using RpcOverShm.Streams;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Streams;

/// <summary>
/// A write whose peer keeps it going by the room that it makes: nobody waits for it, and it ends with its link.
/// </summary>
internal sealed class ByteSenderTests
{
    private readonly LinkPair _links = new(purpose: ConnectionPurpose.ByteStream);
    private RawPeer _peer = null!;
    private ByteSender _sender = null!;

    [SetUp]
    public void Open()
    {
        _peer = new RawPeer(_links.Server);
        _sender = new ByteSender(_links.Client, () => { });
    }

    [TearDown]
    public void Close()
    {
        _links.Client.CloseForViolation(new ProtocolException("The test is over."));
        _sender.Leave();
        _links.Client.Leave();
        _peer.Dispose();
        _links.Dispose();
    }

    [Test]
    public void Write_ThatFindsRoomForAllItsBytes_EndsWithTheLinkAllTheSame()
    {
        // The write may be over before the link is closed. Without the check, each one would be.
        bool isBroken = false;
        for (int tries = 0; tries < 10 && !isBroken; tries++)
        {
            isBroken = IsBrokenByAClose();
        }

        Assert.That(isBroken);
    }

    [Test]
    public void Close_WhileAThreadWrites_DoesNotWaitForIt()
    {
        using var streams = new StreamPair();
        using var writer = new HeldWriter(streams.One.WriteAsync);

        TestThread.Start("closer", () => streams.Links.Client.CloseForViolation(new ProtocolException("x"))).Join();
    }

    // A write that was cancelled is followed by the next one at once. The loop may still be on its way to the first.
    [Test]
    public void WriteRest_WhileAThreadWrites_DoesNotWaitForIt()
    {
        _ = _sender.WriteAsync(new byte[1 << 20], CancellationToken.None).AsTask();
        using var writer = new HeldWriter(_sender.WriteAsync);

        bool? isMoreToDo = null;
        TestThread.Start("loop", () => isMoreToDo = _sender.WriteRest()).Join();

        Assert.That(isMoreToDo, Is.False, "A thread that leaves something to do requests the loop.");
        _links.Client.CloseForViolation(new ProtocolException("x"));
    }

    [Test]
    public void WriteRest_WhosePeerMakesALittleRoomInEachRound_ReturnsAfterSome()
    {
        using var bytes = new WatchedBytes(4 << 20);
        _ = _sender.WriteAsync(bytes.Memory, CancellationToken.None).AsTask();
        int rounds = 0;
        bytes.OnUse = () =>
        {
            rounds++;
            Assert.That(_peer.TryReceive(), Is.Not.Null);
            _peer.PublishHead();
        };

        bool isMoreToDo = _sender.WriteRest();

        Assert.That(rounds, Is.InRange(2, 10));
        Assert.That(isMoreToDo, "The loop serves others and comes back.");
    }

    private static bool IsBrokenByAClose()
    {
        const int Ring = 32 << 20;
        using var links = new LinkPair(clientRing: Ring, purpose: ConnectionPurpose.ByteStream);
        using var peer = new RawPeer(links.Server);
        var sender = new ByteSender(links.Client, () => { });
        long begun = SharedMemoryOrder.ReadAcquire(ref links.ClientSegment.Own.Tail);
        TestThread closer = TestThread.Start("closer", () =>
        {
            while (SharedMemoryOrder.ReadAcquire(ref links.ClientSegment.Own.Tail) == begun)
            {
                // A thread that sleeps here might come too late.
            }

            links.Client.CloseForViolation(new ProtocolException("x"));
        });
        try
        {
            sender.Write(new byte[Ring / 2]);
            return false;
        }
        catch (IOException)
        {
            return true;
        }
        finally
        {
            closer.Join();
            sender.Leave();
            links.Client.Leave();
        }
    }

    /// <summary>Bytes that tell when a writer, with the gate, looks at them.</summary>
    private sealed class WatchedBytes(int length) : MemoryManager<byte>, IDisposable
    {
        private readonly byte[] _bytes = new byte[length];

        public Action? OnUse { get; set; }

        public override Memory<byte> Memory => CreateMemory(length);

        public override Span<byte> GetSpan()
        {
            OnUse?.Invoke();
            return _bytes;
        }

        public override MemoryHandle Pin(int elementIndex = 0) => throw new NotSupportedException();

        public override void Unpin() => throw new NotSupportedException();

        public void Dispose()
        {
        }

        protected override void Dispose(bool disposing)
        {
        }
    }

    /// <summary>A thread that writes and is kept, with the gate, until the test lets it go.</summary>
    private sealed class HeldWriter : IDisposable
    {
        private readonly ManualResetEventSlim _isKept = new();
        private readonly ManualResetEventSlim _mayGo = new();
        private readonly WatchedBytes _bytes = new(1);
        private readonly TestThread _thread;

        /// <summary>Returns once the thread has the gate.</summary>
        public HeldWriter(Func<ReadOnlyMemory<byte>, CancellationToken, ValueTask> write)
        {
            _bytes.OnUse = () =>
            {
                _isKept.Set();
                _mayGo.Wait(Timeouts.Wait);
            };
            _thread = TestThread.Start("writer", () => Assert.That(
                async () => await write(_bytes.Memory, CancellationToken.None), Throws.InstanceOf<IOException>()));
            Assert.That(_isKept.Wait(Timeouts.Wait));
        }

        /// <summary>Lets the thread go, which fails because its link is closed.</summary>
        public void Dispose()
        {
            _mayGo.Set();
            _thread.Join();
            _isKept.Dispose();
            _mayGo.Dispose();
        }
    }
}
