using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Tests.Connections;

namespace RpcOverShm.Tests.Calls;

/// <summary>The memory of received messages: all of it counts, and a message beyond the budget is refused.</summary>
public class InboundBudgetTests
{
    [TestCase(0)]
    [TestCase(100)]
    public void Part_BeyondTheBudget_IsRefusedBeforeAnArrayIsMadeForIt(int bytesBefore)
    {
        // In an array of its own, so that each array that is made can be counted.
        var budget = new BufferBudget("Option", limitBytes: 8 << 10);
        InboundMessages messages = WithBudget(budget, isTakenAsArray: true);
        messages.Add((uint)bytesBefore, new byte[bytesBefore], 0);
        byte[] bytes = new byte[100_000];
        long before = GC.GetAllocatedBytesForCurrentThread();

        Status? refusal = messages.Add((uint)bytes.Length, bytes, 0);

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(bytes.Length / 2));
        Assert.That(refusal?.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(messages.Exceeded, Is.SameAs(budget));
        Assert.That(messages.AddChunk(bytes, 0), Is.Null, "Later parts of it are dropped.");
        messages.Abort();
        Assert.That(budget.Take(8 << 10), Is.Null, "Nothing stays counted.");
    }

    // The queue has room for a power of two of messages, so what is measured is the most that it keeps.
    [TestCase(0)]
    [TestCase(1)]
    [TestCase(1000)]
    public void Messages_OfAnySize_CountForAllThatTheyTake(int bytes)
    {
        const int Messages = 1 << 12;
        var budget = new BufferBudget("Option", limitBytes: 1 << 30);
        InboundMessages messages = WithBudget(budget);
        byte[] message = new byte[bytes];
        long before = GC.GetAllocatedBytesForCurrentThread();
        bool isTaken = true;
        for (int i = 0; i < Messages; i++)
        {
            isTaken &= messages.Add((uint)bytes, message, 0) is null;
        }

        long taken = GC.GetAllocatedBytesForCurrentThread() - before;

        Assert.That(isTaken);
        Assert.That(budget.UsedBytes, Is.InRange(taken, 2 * taken));
        messages.Abort();
        Assert.That(budget.UsedBytes, Is.Zero);
    }

    [Test]
    public void Burst_ThatWasTaken_LeavesNoRoomBehind()
    {
        const int Messages = 1 << 12;
        var budget = new BufferBudget("Option", limitBytes: 1 << 30);
        InboundMessages messages = WithBudget(budget);
        bool isTaken = true;
        long[] taken = new long[2];
        for (int round = 0; round < taken.Length; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < Messages; i++)
            {
                isTaken &= messages.Add(0, [], 0) is null;
            }

            taken[round] = GC.GetAllocatedBytesForCurrentThread() - before;
            while (messages.TryTake(out ReceivedMessage bytes))
            {
                bytes.Release();
            }
        }

        // The second burst makes its room anew, because that of the first has gone. It finds some arrays in the pool.
        Assert.That(isTaken);
        Assert.That(taken[1], Is.GreaterThan(taken[0] / 2));
        Assert.That(budget.UsedBytes, Is.LessThanOrEqualTo(4 << 10));
        messages.Abort();
    }

    private static InboundMessages WithBudget(BufferBudget budget, bool isTakenAsArray = false) => new(
        new RecordingCall(),
        maxMessageBytes: null,
        "server",
        window: 1 << 30,
        isAlwaysRequested: false,
        new PayloadAccessHint(isInChunks: false) { IsAsArray = isTakenAsArray },
        budget);
}
