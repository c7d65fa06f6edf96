using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Connections;

public class OutboundFrameTests
{
    [Test]
    public void Copy_OfHeadAndBody_HoldsBothInOrder()
    {
        OutboundFrame frame = OutboundFrame.Copy(FrameKind.End, FrameFlags.HasMessage, "head"u8, "body"u8);

        Assert.That(frame.Rest.SequenceEqual("headbody"u8));
        Assert.That((frame.Length, frame.HeadLength, frame.IsStarted, frame.IsSent), Is.EqualTo((8, 4, false, false)));
        frame.Finish();
    }

    [TestCase(0)]
    [TestCase(1000)]
    public void Charge_OfAFrame_CountsItsObjectsToo(int bytes)
    {
        const int Frames = 1000;
        var budget = new BufferBudget("Option", limitBytes: 1 << 30);
        var frames = new OutboundFrame[Frames];
        byte[] body = new byte[bytes];
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < Frames; i++)
        {
            frames[i] = OutboundFrame.Copy(FrameKind.Message, FrameFlags.None, default, body);
            frames[i].Charge(budget, callBytes: 0);
        }

        long taken = GC.GetAllocatedBytesForCurrentThread() - before;

        // A few arrays come from the pool.
        Assert.That(budget.UsedBytes, Is.InRange(taken, 2 * taken));
        Array.ForEach(frames, frame => frame.Finish());
        Assert.That(budget.UsedBytes, Is.Zero);
    }

    [Test]
    public void Advance_InSteps_EndsWithTheLast()
    {
        OutboundFrame frame = OutboundFrame.Copy(FrameKind.Message, FrameFlags.None, default, "abcdef"u8);

        frame.Advance(4);
        Assert.That(frame.Rest.SequenceEqual("ef"u8));
        Assert.That((frame.IsStarted, frame.IsSent), Is.EqualTo((true, false)));
        frame.Advance(2);
        Assert.That(frame.IsSent);
        frame.Finish();
    }

    [Test]
    public void IsSent_OfAnEmptyFrame_ComesWithItsRecordAndNotBefore()
    {
        OutboundFrame frame = OutboundFrame.Copy(FrameKind.HalfClose, FrameFlags.None, default, default);
        Assert.That(frame.IsSent, Is.False);

        frame.Advance(0);

        Assert.That(frame.IsSent);
        frame.Finish();
    }

    [Test]
    public async Task WaitUntilFinishedAsync_BeforeAndAfterTheEnd_Completes()
    {
        var frame = new OutboundFrame(FrameKind.Message, FrameFlags.None);
        Task before = frame.WaitUntilFinishedAsync();
        Assert.That(before.IsCompleted, Is.False);

        frame.Finish();

        await before.Bounded();
        Assert.That(frame.WaitUntilFinishedAsync().IsCompletedSuccessfully);
    }

    [Test]
    public void WaitUntilFinishedAsync_Afterwards_RunsNothingOnTheThreadThatFinishes()
    {
        // Finish runs under the sender's gate, where no continuation of user code may run.
        var frame = new OutboundFrame(FrameKind.Message, FrameFlags.None);
        int? ranOn = null;
        using var ran = new ManualResetEventSlim();
        TestThread finisher = TestThread.Start("finisher", () =>
        {
            frame.WaitUntilFinishedAsync().ContinueWith(
                _ =>
                {
                    ranOn = Environment.CurrentManagedThreadId;
                    ran.Set();
                },
                TaskContinuationOptions.ExecuteSynchronously);
            int me = Environment.CurrentManagedThreadId;
            frame.Finish();
            Assert.That(ran.Wait(Timeouts.Wait));
            Assert.That(ranOn, Is.Not.EqualTo(me));
        });
        finisher.Join();
    }

    [Test]
    public void CallSendState_OfFrames_IsAQueue()
    {
        var state = default(CallSendState);
        OutboundFrame[] frames = [.. Enumerable.Range(0, 5).Select(_ => new OutboundFrame(FrameKind.Message, 0))];
        Assert.That(state.HasQueued, Is.False);

        state.Enqueue(frames[0]);
        state.Enqueue(frames[1]);
        OutboundFrame first = state.Dequeue();
        state.Enqueue(frames[2]);

        Assert.That((OutboundFrame[])[first, state.Dequeue(), state.Dequeue()], Is.EqualTo(frames[..3]));
        Assert.That(state.HasQueued, Is.False);
        state.Enqueue(frames[3]);
        Assert.That(state.First, Is.SameAs(frames[3]));
    }
}
