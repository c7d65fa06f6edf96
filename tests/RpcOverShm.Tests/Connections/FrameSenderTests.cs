using RpcOverShm.Protocol;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <summary>The frames that go into the ring: their order and their pieces.</summary>
public class FrameSenderTests
{
    private readonly SenderRig _rig = new();

    [TearDown]
    public void Close() => _rig.Dispose();

    [Test]
    public void Start_Deferred_IsPublishedWithTheNextFlush()
    {
        long before = _rig.Tail;
        _rig.Sender.Start(new RecordingCall(), FrameFlags.None, "head"u8, default, isDeferred: true);
        Assert.That(_rig.Tail, Is.EqualTo(before));

        _rig.Sender.FlushDeferred();

        Assert.That(_rig.Peer.Receive().Head, Is.EqualTo("head"u8.ToArray()));
    }

    [Test]
    public void Start_DeferredButMuch_IsPublishedAtOnce()
    {
        _rig.Sender.Start(new RecordingCall(), FrameFlags.None, BytePattern.Of(5_000), default, isDeferred: true);

        Assert.That(_rig.Peer.Receive().Head, Has.Length.EqualTo(5_000));
    }

    [Test]
    public void Start_Deferred_IsPublishedWithACallThatIsNot()
    {
        _rig.Sender.Start(new RecordingCall(), FrameFlags.None, "one"u8, default, isDeferred: true);
        _rig.Start("two"u8);

        Assert.That(_rig.Peer.Receive().Head, Is.EqualTo("one"u8.ToArray()));
        Assert.That(_rig.Peer.Receive().Head, Is.EqualTo("two"u8.ToArray()));
    }

    // The thread that brings the credit may hold the reader role, and nobody reads while it sends.
    [Test]
    public void AddCredit_ForALargeMessage_SendsAFewRecordsAndLeavesTheRestToTheEventLoop()
    {
        using var rig = new SenderRig(window: 64 << 10, ring: 1 << 20);
        RecordingCall call = rig.Start();
        rig.SendUnawaited(call, BytePattern.Of(600_000));
        Assert.That(rig.SpaceRequests, Is.Zero);

        rig.AddCredit(call, 1 << 20);

        Assert.That(rig.SpaceRequests, Is.Positive);
        int received = 0;
        while (received < 600_000)
        {
            received += rig.Peer.Receive().Body.Length;
        }
    }

    [Test]
    public void Send_OfALargeMessage_IsDoneByItsOwnThread()
    {
        using var rig = new SenderRig(ring: 1 << 20);
        RecordingCall call = rig.Start();

        rig.SendUnawaited(call, BytePattern.Of(600_000));

        Assert.That(rig.SpaceRequests, Is.Zero);
        Assert.That(rig.Peer.ReceiveAll().Sum(frame => frame.Body.Length), Is.EqualTo(600_000));
    }

    [Test]
    public void Start_OfASmallCall_IsOneRecord()
    {
        RecordingCall call = _rig.Start("head"u8, "message"u8, FrameFlags.HasMessage | FrameFlags.HalfClose);

        RawFrame frame = _rig.Peer.ReceiveAll().Single();

        Assert.That(frame.Kind, Is.EqualTo(FrameKind.CallStart));
        Assert.That(frame.Flags, Is.EqualTo(FrameFlags.HasMessage | FrameFlags.HalfClose));
        Assert.That(frame.Call, Is.EqualTo(call.Id).And.EqualTo(new CallId(0, 1, false)));
        Assert.That(frame.Head, Is.EqualTo("head"u8.ToArray()));
        Assert.That(frame.Body, Is.EqualTo("message"u8.ToArray()));
    }

    [TestCase(1, LinkPair.SmallRing)]
    [TestCase(8176, LinkPair.SmallRing)]
    [TestCase(8177, LinkPair.SmallRing)]
    [TestCase(16352, LinkPair.SmallRing)]
    [TestCase(30_000, LinkPair.SmallRing)]
    [TestCase(65_535, 1 << 20)]
    [TestCase(65_536, 1 << 20)]
    [TestCase(131_056, 1 << 20)]
    [TestCase(200_000, 1 << 20)]
    public void Start_WithAHeadOfAnySize_ContinuesInAsManyRecordsAsItNeeds(int length, int ring)
    {
        using var rig = new SenderRig(ring: ring);
        byte[] head = BytePattern.Of(length);
        int most = Math.Min(rig.Links.Client.Writer.MaxPayloadBytes, ushort.MaxValue);

        rig.Start(head);
        List<RawFrame> frames = rig.Peer.ReceiveAll();

        Assert.That(frames, Has.Count.EqualTo((length + most - 1) / most));
        Assert.That(frames.SelectMany(frame => frame.Head), Is.EqualTo(head));
        Assert.That(frames.Select(frame => frame.Body), Is.All.Empty);
        Assert.That(frames[0].Kind, Is.EqualTo(FrameKind.CallStart));
        Assert.That(frames.Skip(1).Select(frame => frame.Kind), Is.All.EqualTo(FrameKind.HeadChunk));
        Assert.That(
            frames.Select(frame => (frame.Flags & FrameFlags.HeadContinues) != 0),
            Is.EqualTo(frames.Select((_, i) => i < frames.Count - 1)));
    }

    [Test]
    public void InlineBytes_OfARing_FitIntoOneRecord()
    {
        Assert.That(_rig.Sender.SingleRecordBytes, Is.EqualTo(_rig.Links.Client.Writer.MaxPayloadBytes));
        using var rig = new SenderRig(ring: 1 << 20);
        Assert.That(rig.Sender.SingleRecordBytes, Is.EqualTo(16 << 10));
    }

    [Test]
    public void SendMessageAsync_OfASmallMessage_IsSentAtOnce()
    {
        RecordingCall call = _rig.Start();

        Task sent = _rig.Send(call, "hello"u8);

        RawFrame frame = _rig.Peer.ReceiveAll()[^1];
        Assert.That(sent.IsCompletedSuccessfully);
        Assert.That(frame.Kind, Is.EqualTo(FrameKind.Message));
        Assert.That(frame.Argument, Is.EqualTo(5));
        Assert.That(frame.Body, Is.EqualTo("hello"u8.ToArray()));
    }

    [Test]
    public void SendMessageAsync_OfAnEmptyMessage_IsAFrameAndNotFree()
    {
        RecordingCall call = _rig.Start();

        _rig.Send(call, [], FrameFlags.HalfClose);

        RawFrame frame = _rig.Peer.ReceiveAll()[^1];
        Assert.That(
            (frame.Kind, frame.Flags, frame.Argument), Is.EqualTo((FrameKind.Message, FrameFlags.HalfClose, 0u)));
        Assert.That(call.Sending.Credit, Is.EqualTo((1 << 20) - 16));
    }

    [Test]
    public async Task SendMessageAsync_BeyondTheRing_CompletesWhenThePeerHasRead()
    {
        RecordingCall call = _rig.Start();
        byte[] message = BytePattern.Of(200_000);
        Task sent = _rig.Send(call, message, FrameFlags.HalfClose);
        Assert.That(sent.IsCompleted, Is.False);

        var received = new List<RawFrame> { _rig.Peer.Receive() };
        while ((received[^1].Flags & FrameFlags.HalfClose) == 0)
        {
            received.Add(_rig.Peer.Receive());
        }

        Assert.That(received.Select(frame => frame.Call), Is.All.EqualTo(call.Id));
        SameBytes.Assert([.. received.SelectMany(frame => frame.Body)], message);
        await sent.Bounded();
    }

    [Test]
    public void SendMessageAsync_InParts_FlagsTheHalfCloseOnTheLast()
    {
        RecordingCall call = _rig.Start();
        _rig.Send(call, BytePattern.Of(20_000), FrameFlags.HalfClose);

        RawFrame[] frames = [_rig.Peer.Receive(), _rig.Peer.Receive(), _rig.Peer.Receive(), _rig.Peer.Receive()];

        Assert.That(
            frames.Select(frame => (frame.Kind, frame.Flags, frame.Argument)),
            Is.EqualTo(new[]
            {
                (FrameKind.CallStart, FrameFlags.None, 0u),
                (FrameKind.Message, FrameFlags.None, 20_000u),
                (FrameKind.MessageChunk, FrameFlags.None, 0u),
                (FrameKind.MessageChunk, FrameFlags.HalfClose, 0u),
            }));
    }

    [Test]
    public void SendMessageAsync_InALargeRing_CutsChunksOf32KiB()
    {
        using var rig = new SenderRig(ring: 1 << 20);
        RecordingCall call = rig.Start();
        rig.Send(call, BytePattern.Of(100_000), FrameFlags.HalfClose);

        List<RawFrame> frames = rig.Peer.ReceiveAll();

        Assert.That(
            frames.Skip(1).Select(frame => frame.Body.Length),
            Is.EqualTo((int[])[32768, 32768, 32768, 100_000 - (3 * 32768)]));
    }

    [Test]
    public void Send_BehindAQueuedMessage_KeepsTheOrderOfTheCall()
    {
        RecordingCall call = _rig.Start();
        _rig.Send(call, BytePattern.Of(100_000));
        _rig.Sender.Send(call, FrameKind.HalfClose, FrameFlags.None, default, default);
        _rig.Send(call, "late"u8);

        List<RawFrame> frames = _rig.Peer.ReceiveUntil(FrameKind.HalfClose);

        Assert.That(frames.Sum(frame => frame.Body.Length), Is.EqualTo(100_000));
        Assert.That(_rig.Peer.Receive().Body, Is.EqualTo("late"u8.ToArray()));
    }

    [Test]
    public void SendMessageAsync_OfTwoLargeMessages_TakesTurns()
    {
        RecordingCall one = _rig.Start();
        RecordingCall other = _rig.Start();
        _rig.Send(one, BytePattern.Of(150_000));
        _rig.Send(other, BytePattern.Of(150_000));

        var order = new List<CallId>();
        for (int bytes = 0; bytes < 300_000;)
        {
            RawFrame frame = _rig.Peer.Receive();
            bytes += frame.Body.Length;
            order.Add(frame.Call);
        }

        // Only one call runs at the beginning, and only one is left at the end.
        int switches = order.Zip(order.Skip(1)).Count(pair => pair.First != pair.Second);
        Assert.That(switches, Is.GreaterThan(order.Count / 4), "One call does not stand in the way of another.");
    }

    [Test]
    public void SendMessageAsync_OfASmallCallBesideALargeOne_PassesBeforeTheLargeEnds()
    {
        RecordingCall large = _rig.Start();
        RecordingCall small = _rig.Start();
        _rig.Send(large, BytePattern.Of(1_000_000));
        _rig.Send(small, "small"u8);

        int before = 0;
        RawFrame frame = _rig.Peer.Receive();
        while (frame.Call != small.Id || frame.Kind != FrameKind.Message)
        {
            before += frame.Body.Length;
            frame = _rig.Peer.Receive();
        }

        Assert.That(before, Is.LessThan(200_000));
    }

    [Test]
    public void CreditAndGoAway_WithARingFullOfData_UseTheReserve()
    {
        RecordingCall call = _rig.FillWithData();
        long full = _rig.Tail;

        _rig.Sender.SendCredit(call, 100);
        Assert.That(_rig.Tail, Is.EqualTo(full + 16), "It did not wait for space.");
        _rig.Sender.SendGoAway();
        Assert.That(_rig.Tail, Is.EqualTo(full + 32));
    }

    [Test]
    public void SendCredit_ManyTimesWithoutSpace_IsOneSum()
    {
        RecordingCall call = _rig.FillWithData();
        const int Grants = 1000;
        for (int i = 0; i < Grants; i++)
        {
            _rig.Sender.SendCredit(call, 1);
        }

        var credits = new List<uint>();
        while (credits.Sum(credit => credit) < Grants)
        {
            RawFrame frame = _rig.Peer.Receive();
            if (frame.Kind == FrameKind.Credit)
            {
                credits.Add(frame.Argument);
            }
        }

        Assert.That(credits.Sum(credit => credit), Is.EqualTo(Grants));
        Assert.That(credits.SkipLast(1), Is.All.EqualTo(1));
        Assert.That(credits[^1], Is.GreaterThan(100));
    }

    [Test]
    public void SendGoAway_Twice_IsOneFrame()
    {
        _rig.Sender.SendGoAway();
        _rig.Sender.SendGoAway();

        RawFrame frame = _rig.Peer.ReceiveAll().Single();
        Assert.That((frame.Kind, frame.Call), Is.EqualTo((FrameKind.GoAway, CallId.None)));
    }

    // Waking a blocked thread may be a system call, for which no other sender shall wait.
    [Test]
    public async Task WriterOfABlockedThread_IsWoken_OutsideOfTheGate()
    {
        RecordingCall call = _rig.Start();
        var woken = new TaskCompletionSource();
        call.OnHandOver = () =>
        {
            try
            {
                TestThread.Start("another sender", () => _rig.Start()).Join();
                woken.SetResult();
            }
            catch (Exception exception)
            {
                woken.SetException(exception);
            }

            return true;
        };

        Task<bool> written = _rig.Send(call, BytePattern.Of(100_000));
        Assert.That(written.IsCompleted, Is.False, "It waits for room.");
        await Timeouts.Eventually(() =>
        {
            _rig.Peer.ReceiveAll();
            return woken.Task.IsCompleted;
        });
        await woken.Task;
        call.RunUserCode();
        Assert.That(await written.Bounded());
    }

    [Test]
    public void Send_OfManyCallsAtOnce_LosesAndMixesNothing()
    {
        const int Calls = 4;
        const int Messages = 300;
        Random random = TestSeed.NewRandom();
        RecordingCall[] calls = [.. Enumerable.Range(0, Calls).Select(_ => _rig.Start())];
        int[][] sizes = [.. calls.Select(_ => Enumerable.Range(0, Messages).Select(_ => random.Next(3000)).ToArray())];
        TestThread[] senders = [.. calls.Select((call, i) => TestThread.Start("sender", () =>
        {
            for (int n = 0; n < Messages; n++)
            {
                _ = _rig.Send(call, Enumerable.Repeat((byte)(i + n), sizes[i][n]).ToArray());
                while (call.Sending.Credit < 100_000)
                {
                    Thread.Yield();
                }
            }
        }))];

        int[] received = new int[Calls];
        while (received.Sum() < Calls * Messages)
        {
            RawFrame frame = _rig.Peer.Receive();
            if (frame.Kind != FrameKind.Message)
            {
                continue;
            }

            int slot = frame.Call.Slot;
            int index = received[slot]++;
            Assert.That(frame.Body, Is.EqualTo(Enumerable.Repeat((byte)(slot + index), sizes[slot][index])));
            _rig.Sender.AddCredit(calls[slot], frame.Cost);
        }

        Array.ForEach(senders, sender => sender.Join());
    }
}
