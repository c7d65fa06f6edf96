using System.Buffers;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Streams;
using RpcOverShm.Tests.Links;
using RpcOverShm.Tests.Sending;

namespace RpcOverShm.Tests.Streams;

/// <summary>
/// A write whose peer makes room in a way that keeps it going: no other thread waits for it, and it ends with its link.
/// </summary>
internal sealed class ByteSenderTests
{
    private const int RecordBytes = LinkPair.SmallRing / 8;

    private readonly LinkPair _links = new(purpose: ConnectionPurpose.ByteStream);
    private readonly HeldBytes _held = new();
    private RawPeer _peer = null!;
    private ByteSender _sender = null!;

    private long Tail => SharedMemoryOrder.ReadAcquire(ref _links.ClientSegment.Own.Tail);

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
        ((IDisposable)_held).Dispose();
    }

    [Test]
    public void Write_WhosePeerMakesRoomWithoutEnd_EndsWithTheLink()
    {
        const int RecordsBefore = 100;
        bool hasEnded = false;
        long tailAtClose = 0;
        TestThread reader = TestThread.Start("reader", () =>
        {
            for (int records = 0; !Volatile.Read(ref hasEnded);)
            {
                if (_peer.TryReceive() is not null && ++records == RecordsBefore)
                {
                    _links.Client.CloseForViolation(new ProtocolException("x"));
                    tailAtClose = Tail;
                }
            }
        });

        Assert.That(() => _sender.Write(new byte[64 << 20]), Throws.TypeOf<IOException>());
        Volatile.Write(ref hasEnded, true);
        reader.Join();

        Assert.That(Tail - tailAtClose, Is.LessThanOrEqualTo(RecordBytes), "The record that was begun.");
    }

    [Test]
    public void Close_WhileAThreadWrites_DoesNotWaitForIt()
    {
        using var streams = new StreamPair();
        TestThread writer = TestThread.Start("writer", () => Assert.That(
            async () => await streams.One.WriteAsync(_held.Memory, CancellationToken.None),
            Throws.TypeOf<IOException>()));
        _held.WaitUntilUsed();

        TestThread.Start("closer", () => streams.Links.Client.CloseForViolation(new ProtocolException("x"))).Join();

        _held.LetGo();
        writer.Join();
    }

    // A write that was cancelled is followed by the next one at once. The loop may still be on its way to the first.
    [Test]
    public void WriteRest_WhileAThreadWrites_DoesNotWaitForIt()
    {
        _ = _sender.WriteAsync(new byte[1 << 20], CancellationToken.None).AsTask();
        TestThread writer = TestThread.Start("writer", () => Assert.That(
            async () => await _sender.WriteAsync(_held.Memory, CancellationToken.None),
            Throws.InvalidOperationException));
        _held.WaitUntilUsed();

        bool? isMoreToDo = null;
        TestThread.Start("loop", () => isMoreToDo = _sender.WriteRest()).Join();

        Assert.That(isMoreToDo, Is.False, "A thread that leaves something to do requests the loop.");
        _held.Fail();
        writer.Join();
    }

    [Test]
    public void WriteRest_WhosePeerMakesNextToNoRoom_ReturnsAfterSomeRounds()
    {
        _ = _sender.WriteAsync(new byte[64 << 20], CancellationToken.None).AsTask();
        bool hasReturned = false;
        TestThread reader = TestThread.Start("reader", () =>
        {
            for (long head = 0; !Volatile.Read(ref hasReturned);)
            {
                head += head < Tail ? 16 : 0;
                SharedMemoryOrder.WriteFenced(ref _links.ServerSegment.Own.Head, head);
            }
        });

        // Without a bound it returns true after a megabyte only, and false once the head stands still.
        bool isMoreToDo;
        long before;
        do
        {
            before = Tail;
            isMoreToDo = _sender.WriteRest();
        }
        while (before < 32 << 20 && !(isMoreToDo && Tail == before));

        Volatile.Write(ref hasReturned, true);
        reader.Join();
        Assert.That(isMoreToDo && Tail == before, "The loop serves others and comes back.");
    }

    /// <summary>Bytes whose writer is kept, with what it holds, when it looks at them.</summary>
    private sealed class HeldBytes : MemoryManager<byte>
    {
        private readonly ManualResetEventSlim _isUsed = new();
        private readonly ManualResetEventSlim _mayGo = new();
        private bool _isFailing;

        public override Memory<byte> Memory => CreateMemory(1);

        public void WaitUntilUsed() => Assert.That(_isUsed.Wait(Timeouts.Wait));

        public void LetGo() => _mayGo.Set();

        public void Fail()
        {
            _isFailing = true;
            LetGo();
        }

        public override Span<byte> GetSpan()
        {
            _isUsed.Set();
            _mayGo.Wait(Timeouts.Wait);
            return _isFailing ? throw new InvalidOperationException("The bytes are gone.") : new byte[1];
        }

        public override MemoryHandle Pin(int elementIndex = 0) => throw new NotSupportedException();

        public override void Unpin() => throw new NotSupportedException();

        protected override void Dispose(bool disposing)
        {
            _isUsed.Dispose();
            _mayGo.Dispose();
        }
    }
}
