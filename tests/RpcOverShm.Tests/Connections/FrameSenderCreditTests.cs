using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <summary>Credit limits the sending, and a message of any size passes any window in pieces.</summary>
public class FrameSenderCreditTests
{
    private const int Chunk = FrameWriter.MaxPartBytes;
    private const int Record = FrameWriter.CreditPerRecord;

    // Other implementations first stalled at windows that are smaller than one whole chunk.
    private static readonly int[] s_windows =
    [
        Chunk - 1, Chunk, Chunk + 1, Chunk + Record - 1, Chunk + Record, Chunk + Record + 1, (2 * Chunk) - 1, 2 * Chunk,
        (2 * Chunk) + (2 * Record), 1024 + Record, 1025 + Record, 64 << 10,
    ];

    [Test]
    public async Task SendMessageAsync_ThroughAnyWindow_ArrivesWholeAndInOrder(
        [ValueSource(nameof(s_windows))] int window,
        [Values(LinkPair.SmallRing, 1 << 20)] int ring,
        [Values(0, 1, Chunk - 1, Chunk, Chunk + 1, (3 * Chunk) + 5)] int length)
    {
        using var rig = new SenderRig((uint)window, ring: ring);
        RecordingCall call = rig.Start();
        byte[] message = BytePattern.Of(length);

        Task sent = rig.Send(call, message, FrameFlags.HalfClose);
        byte[] received = ReceiveWithCredit(rig, call, window);

        Assert.That(received, Is.EqualTo(message));
        await sent.Bounded();
    }

    [Test]
    public void SendMessageAsync_WithoutCredit_WaitsAndGoesOnWithIt()
    {
        using var rig = new SenderRig(window: 1000 + Record);
        RecordingCall call = rig.Start();
        Task first = rig.Send(call, BytePattern.Of(1000));
        Task second = rig.Send(call, BytePattern.Of(10));

        Assert.That(first.IsCompleted);
        Assert.That(second.IsCompleted, Is.False);
        Assert.That(rig.Peer.ReceiveAll(), Has.Count.EqualTo(2));

        rig.AddCredit(call, 10 + Record - 1);
        Assert.That(rig.Peer.ReceiveAll(), Is.Empty, "One byte short.");
        rig.AddCredit(call, 1);
        Assert.That(rig.Peer.ReceiveAll().Single().Body, Has.Length.EqualTo(10));
        Assert.That(call.Sending.Credit, Is.Zero);
    }

    [Test]
    public void SendMessageAsync_ThatEndsWithCredit_IsCompletedAsUserCodeOfTheCall()
    {
        using var rig = new SenderRig(window: 1000 + Record);
        RecordingCall call = rig.Start();
        rig.Send(call, BytePattern.Of(1000));
        int continuedOn = 0;
        Task waiting = ContinueAsync();

        rig.Sender.AddCredit(call, 500);
        Assert.That(call.HasUnqueuedUserCode, "The reading thread runs it, or queues it.");
        Assert.That(waiting.IsCompleted, Is.False);
        int ranOn = 0;
        TestThread.Start("reader", () =>
        {
            ranOn = Environment.CurrentManagedThreadId;
            call.RunUserCode();
        }).Join();

        Assert.That(waiting.IsCompletedSuccessfully);
        Assert.That(continuedOn, Is.EqualTo(ranOn), "And not on the pool.");
        Assert.That(call.HasUnqueuedUserCode, Is.False);

        async Task ContinueAsync()
        {
            await rig.Send(call, BytePattern.Of(100)).ConfigureAwait(false);
            continuedOn = Environment.CurrentManagedThreadId;
        }
    }

    // Switching to another thread to complete the wait would cost more than the rest of the call.
    [Test]
    public void Send_ThatEndsWithCredit_MakesNoUserCodePending()
    {
        using var rig = new SenderRig(window: 1000 + Record);
        RecordingCall call = rig.Start();
        rig.SendUnawaited(call, BytePattern.Of(1000));
        rig.SendUnawaited(call, BytePattern.Of(100));
        Assert.That(rig.Peer.ReceiveAll(), Has.Count.EqualTo(2));

        rig.Sender.AddCredit(call, 500);

        Assert.That(rig.Peer.ReceiveAll().Single().Body, Is.EqualTo(BytePattern.Of(100)));
        Assert.That(call.HasUnqueuedUserCode, Is.False);
    }

    [Test]
    public void RunUserCode_OfAWriterThatWaitsForTheReader_LetsTheReaderGoOn()
    {
        using var rig = new SenderRig(window: 100);
        RecordingCall call = rig.Start();
        using var isReaderWoken = new ManualResetEventSlim();
        call.OnWork = userCode => isReaderWoken.Set();
        bool hasSeenReader = false;
        Task waiting = ContinueAsync();

        rig.Sender.AddCredit(call, 1000);
        call.AddUserCode(PendingUserCode.WakeReader);
        TestThread.Start("reader", call.RunUserCode).Join();

        Assert.That(waiting.IsCompletedSuccessfully);
        Assert.That(hasSeenReader, "It was not behind the writer.");

        async Task ContinueAsync()
        {
            await rig.Send(call, BytePattern.Of(500)).ConfigureAwait(false);
            hasSeenReader = isReaderWoken.Wait(Timeouts.Wait);
        }
    }

    [Test]
    public async Task SendMessageAsync_ThatEndsWithoutTheReader_IsCompletedOnThePool()
    {
        using var rig = new SenderRig(window: 1000 + Record);
        RecordingCall call = rig.Start();
        await rig.Send(call, BytePattern.Of(1000)).Bounded();
        Task<bool> waiting = rig.Send(call, BytePattern.Of(100));

        rig.Sender.Drop(call);

        Assert.That(await waiting.Bounded(), Is.False);
        Assert.That(call.HasUnqueuedUserCode, Is.False);
    }

    [Test]
    public void SendMessageAsync_WithLittleCredit_SendsNoTinyPieces()
    {
        using var rig = new SenderRig(window: 1023 + Record);
        RecordingCall call = rig.Start();

        rig.Send(call, BytePattern.Of(5000));
        Assert.That(rig.Peer.ReceiveAll(), Has.Count.EqualTo(1), "The start alone.");

        rig.AddCredit(call, 1);
        Assert.That(rig.Peer.ReceiveAll().Single().Body, Has.Length.EqualTo(1024));
    }

    [Test]
    public void SendMessageAsync_OfACallWithoutCredit_LeavesOthersAlone()
    {
        using var rig = new SenderRig(window: 2000);
        RecordingCall stalled = rig.Start();
        RecordingCall other = rig.Start();
        rig.Send(stalled, BytePattern.Of(50_000));
        rig.Peer.ReceiveAll();

        Task sent = rig.Send(other, BytePattern.Of(500));

        Assert.That(sent.IsCompletedSuccessfully);
        Assert.That(rig.Peer.ReceiveAll().Single().Call, Is.EqualTo(other.Id));
    }

    [Test]
    public void AddCredit_UpToTheLargestWindow_IsTakenAndBeyondIsTheProtocolsFault()
    {
        using var rig = new SenderRig(window: 64 << 10);
        RecordingCall call = rig.Start();

        rig.Sender.AddCredit(call, PeerLimits.LargestCallWindow - (64 << 10));

        Assert.That(call.Sending.Credit, Is.EqualTo(PeerLimits.LargestCallWindow));
        Assert.That(() => rig.Sender.AddCredit(call, 1), Throws.TypeOf<ProtocolException>());
        Assert.That(() => rig.Sender.AddCredit(call, uint.MaxValue), Throws.TypeOf<ProtocolException>());
        Assert.That(call.Sending.Credit, Is.Positive);
    }

    [Test]
    public void SendMessageAsync_OfASingleMessage_NeedsNoCredit()
    {
        using var rig = new SenderRig(window: 1000, ring: 1 << 20);
        RecordingCall call = rig.Start();

        Task sent = rig.Send(call, BytePattern.Of(3 * Chunk), FrameFlags.Single | FrameFlags.HalfClose);

        Assert.That(sent.IsCompletedSuccessfully);
        Assert.That(call.Sending.Credit, Is.EqualTo(1000));
        Assert.That(
            rig.Peer.ReceiveAll().Skip(1).Select(frame => (frame.Kind, frame.Flags)),
            Is.EqualTo(new[]
            {
                (FrameKind.Message, FrameFlags.Single),
                (FrameKind.MessageChunk, FrameFlags.None),
                (FrameKind.MessageChunk, FrameFlags.HalfClose),
            }));
    }

    [Test]
    public void Start_WithAMessageInTheFirstFrame_CostsNoCredit()
    {
        using var rig = new SenderRig(window: 1000);

        RecordingCall call = rig.Start([], new byte[5000], FrameFlags.HasMessage);

        Assert.That(rig.Peer.ReceiveAll().Single().Body, Has.Length.EqualTo(5000));
        Assert.That(call.Sending.Credit, Is.EqualTo(1000));
    }

    // Returns credit only when no more frames come: the sender must use up the credit that it has.
    private static byte[] ReceiveWithCredit(SenderRig rig, RecordingCall call, int window)
    {
        var bytes = new List<byte>();
        uint cost = 0;
        while (true)
        {
            RawFrame frame = cost > 0 ? ReceiveOrGrant(rig, call, ref cost) : rig.Peer.Receive();
            bytes.AddRange(frame.Body);
            cost += frame.Kind == FrameKind.CallStart ? 0 : frame.Cost;
            Assert.That(cost, Is.LessThanOrEqualTo(window), "Never more than was granted.");
            if ((frame.Flags & FrameFlags.HalfClose) != 0)
            {
                return [.. bytes];
            }
        }
    }

    private static RawFrame ReceiveOrGrant(SenderRig rig, RecordingCall call, ref uint cost)
    {
        if (rig.Peer.TryReceive() is { } frame)
        {
            return frame;
        }

        rig.Peer.PublishHead();
        rig.AddCredit(call, cost);
        cost = 0;
        return rig.Peer.Receive();
    }
}
