using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Retries;

namespace RpcOverShm.Tests.Retries;

/// <summary>The retry buffer: the requests that it keeps, and those that it replays to an attempt.</summary>
public class RetryBufferTests
{
    // Room for four requests of 100 bytes in all.
    private const int MostBytes = (4 * RetryBuffer.BytesPerRequest) + 100;

    private readonly RetryBudget _budget = new(wholeBytes: null, MostBytes);
    private readonly RetryBuffer _log;

    public RetryBufferTests() => _log = new RetryBuffer(_budget);

    [Test]
    public async Task Restart_WhileAWriteOfTheLastAttemptIsDone_SendsTheNextOneEverything()
    {
        var first = new HeldWriter();
        var second = new HeldWriter();
        Task[] writes = [Write(10), Write(20), Write(30), Write(40)];
        Task<Exception?> sending = _log.SendAsync(first);
        await first.ReleaseAsync(3);
        await first.HoldAsync();

        bool isAnother = _log.TryRestart();
        Task last = Write(MostBytes);
        await first.ReleaseAsync(1);
        Exception? failure = await sending.Bounded();
        _log.Complete();
        Task<Exception?> sendingAgain = _log.SendAsync(second);
        _log.MarkFinal();
        await second.ReleaseAsync(writes.Length + 1);

        Assert.That(await sendingAgain.Bounded(), Is.Null);
        Assert.That((isAnother, failure), Is.EqualTo((true, (Exception?)null)));
        Assert.That(second.Lengths, Is.EqualTo(new[] { 10, 20, 30, 40, MostBytes }));
        Assert.That(second.Completed.IsCompleted);
        await Task.WhenAll([.. writes, last]).Bounded();
    }

    [Test]
    public void Restart_WithRequestsThatAreTooManyToKeep_IsImpossible()
    {
        bool isPossible = _log.TryRestart();
        Write(MostBytes - RetryBuffer.BytesPerRequest);
        bool isStillPossible = _log.TryRestart();
        Write(1);

        Assert.That((isPossible, isStillPossible, _log.TryRestart()), Is.EqualTo((true, true, false)));
        Assert.That(_log.IsOverflowing);
    }

    [Test]
    public void Final_GivesTheBudgetBack_AndTakesNoMoreOfIt()
    {
        Write(60);
        long kept = _budget.Kept;
        _log.MarkFinal();
        Write(60);

        Assert.That((kept, _budget.Kept), Is.EqualTo((60 + RetryBuffer.BytesPerRequest, 0)));
        Assert.That(_log.IsOverflowing, Is.False);
        Assert.That(_log.TryRestart(), Is.False);
    }

    // The list has room for a power of two of requests, so what is measured is the most that it keeps.
    [TestCase(0)]
    [TestCase(1)]
    [TestCase(1000)]
    public void Requests_OfAnySize_CountForAllThatTheyTake(int bytes)
    {
        const int Requests = 1 << 12;
        var budget = new RetryBudget(wholeBytes: null, callBytes: null);
        var buffer = new RetryBuffer(budget);
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < Requests; i++)
        {
            _ = buffer.WriteAsync(new SerializedMessage(new byte[bytes]), options: null);
        }

        long taken = GC.GetAllocatedBytesForCurrentThread() - before;

        Assert.That(budget.Kept, Is.InRange(taken, 2 * taken));
        buffer.MarkFinal();
        Assert.That(budget.Kept, Is.Zero);
    }

    [Test]
    public async Task End_FailsPendingWritesAndLaterOnes_WithTheFirstReason()
    {
        var attempt = new HeldWriter();
        Task pending = Write(10);
        Task<Exception?> sending = _log.SendAsync(attempt);
        await attempt.HoldAsync();
        _log.End(new RpcException(new Status(StatusCode.Cancelled, "first")));
        _log.End(new RpcException(new Status(StatusCode.Unavailable, "second")));
        await attempt.ReleaseAsync(1);

        Assert.That(await sending.Bounded(), Is.Null);
        Assert.That(attempt.Completed.IsCompleted, Is.False);
        foreach (Task write in new[] { pending, Write(10) })
        {
            Assert.That(async () => await write.Bounded(), Throws.InstanceOf<RpcException>()
                .With.Property(nameof(RpcException.StatusCode)).EqualTo(StatusCode.Cancelled));
        }
    }

    private Task<bool> Write(int bytes) => _log.WriteAsync(new SerializedMessage(new byte[bytes]), options: null);
}
