using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Calls;

/// <summary>The queue of received messages: their order, and the sequences that it refuses.</summary>
public class InboundMessagesTests
{
    private const uint Window = 1 << 20;

    private static readonly Dictionary<string, (Action<QueuedMessages> Before, Action<QueuedMessages> Wrong)>
        s_wrongOrders = new()
        {
            ["message in a message"] = (messages => messages.Add(5, "ab"u8, 0), messages => messages.Add(1, "c"u8, 0)),
            ["part of no message"] = (_ => { }, messages => messages.AddChunk("c"u8, 0)),
            ["part after a message"] = (messages => messages.Add(1, "x"u8, 0), messages => messages.AddChunk("c"u8, 0)),
            ["part too long"] = (messages => messages.Add(3, "ab"u8, 0), messages => messages.AddChunk("cd"u8, 0)),
            ["half-close in a message"] = (_ => { }, messages => messages.Add(3, "ab"u8, FrameFlags.HalfClose)),
            ["end in a message"] = (messages => messages.Add(3, "ab"u8, 0), messages => messages.End()),
            ["message after the end"] = (messages => messages.End(), messages => messages.Add(1, "x"u8, 0)),
        };

    private QueuedMessages _messages = new(maxMessageBytes: 100_000, Window);

    private static IEnumerable<string> WrongOrders => s_wrongOrders.Keys;

    [Test]
    public void TryTake_OfMessages_TakesThemInTheirOrder()
    {
        Add("one"u8);
        Add([]);
        Add("three"u8);

        Assert.That((string[])[Take(), Take(), Take()], Is.EqualTo((string[])["one", "", "three"]));
        Assert.That(_messages.TryTake(out _), Is.False);
        Assert.That(_messages.IsAtEnd, Is.False);
    }

    [Test]
    public void TryTake_OfAMessageInParts_TakesItOnceItIsWhole()
    {
        Assert.That(_messages.Add(6, "ab"u8, 0), Is.Null);
        Assert.That(_messages.TryTake(out _), Is.False);
        _messages.AddChunk("cd"u8, 0);
        _messages.AddChunk([], 0);
        Assert.That(_messages.TryTake(out _), Is.False);
        _messages.AddChunk("ef"u8, 0);

        Assert.That(Take(), Is.EqualTo("abcdef"));
    }

    [Test]
    public void IsAtEnd_AfterTheLastMessageWasTaken_IsTrue()
    {
        Add("one"u8);
        _messages.End();
        Assert.That(_messages.IsAtEnd, Is.False);

        Take();

        Assert.That(_messages.IsAtEnd);
    }

    [TestCase("xy", "")]
    [TestCase("x", "y")]
    public void HalfClose_WithTheEndOfAMessage_EndsTheMessages(string first, string rest)
    {
        _messages.Add(2, Encoding.ASCII.GetBytes(first), rest == "" ? FrameFlags.HalfClose : 0);
        if (rest != "")
        {
            _messages.AddChunk(Encoding.ASCII.GetBytes(rest), FrameFlags.HalfClose);
        }

        Assert.That(Take(), Is.EqualTo("xy"));
        Assert.That(_messages.IsAtEnd);
    }

    [TestCase(100_000, true)]
    [TestCase(100_001, false)]
    public void Add_UpToTheLimit_IsTaken(int length, bool isTaken)
    {
        Status? status = _messages.Add((uint)length, new byte[1000], 0);

        Assert.That(
            status?.DebugException?.Message,
            Is.EqualTo(isTaken ? null : "The message has 100001 bytes; MaxReceiveMessageSize allows 100000."));
    }

    [Test]
    public void Add_WithoutALimit_TakesWhatAnArrayCanHold()
    {
        _messages = new QueuedMessages(null, Window);

        Assert.That(_messages.Add(uint.MaxValue, [], 0), Is.Not.Null);
        _messages = new QueuedMessages(null, Window);
        Assert.That(_messages.Add(int.MaxValue, [], 0), Is.Null);
    }

    [Test]
    public void Add_OfTooLargeAMessage_DropsItsOtherPartsToo()
    {
        // The status ends the call, on this thread or on a faster one. Parts still arrive until then.
        Assert.That(_messages.Add(200_000, new byte[100], 0), Is.Not.Null);

        Assert.That(() => _messages.AddChunk(new byte[100], 0), Throws.Nothing);
        Assert.That(() => _messages.AddChunk(new byte[100], FrameFlags.HalfClose), Throws.Nothing);
        Assert.That(() => _messages.End(), Throws.Nothing);
        Assert.That(_messages.TryTake(out _), Is.False);
    }

    [Test]
    public void Add_OfTooLargeAMessage_LeavesTheReaderWaitingForTheCallsEnd()
    {
        // If the messages ended here, the reader would take it for the peer's half-close.
        ValueTask wait = _messages.WaitAsync();

        _messages.Add(200_000, new byte[100], 0);

        Assert.That(wait.IsCompleted, Is.False);
        Assert.That(_messages.IsAtEnd, Is.False);
        _messages.Abort();
    }

    [Test]
    public void Add_OfASecondMessageWhereOneIsRequested_EndsTheCallAndDropsIt()
    {
        _messages = new QueuedMessages(null, Window, isAlwaysRequested: true);
        Assert.That(_messages.Add(4, "ab"u8, 0), Is.Null);
        _messages.AddChunk("cd"u8, 0);

        Assert.That(_messages.Add(4, "ef"u8, 0), Is.EqualTo((Status?)StatusMapping.AdditionalMessage));
        Assert.That(() => _messages.AddChunk("gh"u8, FrameFlags.HalfClose), Throws.Nothing);
        Assert.That(Take(), Is.EqualTo("abcd"));
        Assert.That(_messages.TryTake(out _), Is.False);
    }

    [TestCaseSource(nameof(WrongOrders))]
    public void Parts_InAWrongOrder_AreTheProtocolsFault(string order)
    {
        (Action<QueuedMessages> before, Action<QueuedMessages> wrong) = s_wrongOrders[order];
        before(_messages);

        Assert.That(() => wrong(_messages), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void EndAbruptly_InTheMiddleOfAMessage_KeepsWhatIsWhole()
    {
        Add("whole"u8);
        _messages.Add(3, "ab"u8, 0);

        _messages.EndAbruptly();

        Assert.That(Take(), Is.EqualTo("whole"));
        Assert.That(_messages.IsAtEnd);
    }

    [Test]
    public void Abort_WithMessages_DropsThemAndWhatStillComes()
    {
        Add("one"u8);
        _messages.Add(3, "ab"u8, 0);

        _messages.Abort();

        Assert.That(_messages.TryTake(out _), Is.False);
        Assert.That(_messages.IsAtEnd);
        Assert.That(() => _messages.AddChunk("c"u8, 0), Throws.Nothing);
        Assert.That(_messages.Add(1, "x"u8, 0), Is.Null);
        Assert.That(() => _messages.AddChunk("never begun"u8, 0), Throws.Nothing);
        Assert.That(() => _messages.End(), Throws.Nothing);
        Assert.That(_messages.TryTake(out _), Is.False);
    }

    [Test]
    public void WaitAsync_WithAMessageThere_IsCompleted()
    {
        Add("x"u8);

        Assert.That(_messages.WaitAsync().AsTask().IsCompletedSuccessfully);
    }

    [Test]
    public async Task WaitAsync_BeforeAMessage_CompletesWithIt()
    {
        ValueTask wait = _messages.WaitAsync();
        Assert.That(wait.IsCompleted, Is.False);
        Task bounded = wait.Bounded();
        _messages.Add(2, "x"u8, 0);
        Assert.That(bounded.IsCompleted, Is.False, "Half a message is none.");

        _messages.AddChunk("y"u8, 0);

        await bounded;
        Assert.That(Take(), Is.EqualTo("xy"));
    }

    [TestCase("end")]
    [TestCase("abrupt end")]
    [TestCase("abort")]
    public async Task WaitAsync_BeforeAnEnd_CompletesWithIt(string how)
    {
        Task wait = _messages.WaitAsync().Bounded();

        Action end = how switch
        {
            "end" => _messages.End,
            "abrupt end" => _messages.EndAbruptly,
            _ => _messages.Abort,
        };
        end();

        await wait;
        Assert.That(_messages.IsAtEnd);
        await _messages.WaitAsync().Bounded();
    }

    [Test]
    public async Task WaitAsync_WhenCancelled_ThrowsAndTheNextWaitsAfresh()
    {
        using var cancel = new CancellationTokenSource();
        Task cancelled = _messages.WaitAsync(cancel.Token).Bounded();

        await cancel.CancelAsync();
        Assert.That(async () => await cancelled, Throws.InstanceOf<OperationCanceledException>());
        Task next = _messages.WaitAsync(CancellationToken.None).Bounded();
        Assert.That(next.IsCompleted, Is.False);
        Add("x"u8);

        await next;
        Assert.That(Take(), Is.EqualTo("x"));
    }

    [Test]
    public async Task WaitAsync_WithACancelledToken_ThrowsOnlyIfItWouldWait()
    {
        var cancelled = new CancellationToken(canceled: true);
        Assert.That(
            async () => await _messages.WaitAsync(cancelled).Bounded(),
            Throws.InstanceOf<OperationCanceledException>());

        Add("x"u8);
        await _messages.WaitAsync(cancelled).Bounded();
    }

    [Test]
    public async Task WaitAsync_OfAReader_GoesOnOutsideTheThreadThatAdds()
    {
        int? resumedOn = null;
        var resumed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        TestThread adder = TestThread.Start("adder", () =>
        {
            _ = WaitAndNoteAsync();
            int me = Environment.CurrentManagedThreadId;
            Add("x"u8);
            Assert.That(resumed.Task.Wait(Timeouts.Wait));
            Assert.That(resumedOn, Is.Not.EqualTo(me));
        });
        adder.Join();
        await resumed.Task.Bounded();

        async Task WaitAndNoteAsync()
        {
            await _messages.WaitAsync().ConfigureAwait(false);
            resumedOn = Environment.CurrentManagedThreadId;
            resumed.SetResult();
        }
    }

    [Test]
    public async Task AddTakeAndAbort_AtTheSameTime_LoseNoWaitAndThrowNothing()
    {
        for (int round = 0; round < 300; round++)
        {
            var messages = new QueuedMessages(null, 1 << 30);
            int taken = 0;
            Task reader = Task.Run(async () =>
            {
                while (!messages.IsAtEnd)
                {
                    await messages.WaitAsync(CancellationToken.None);
                    while (messages.TryTake(out ReceivedMessage bytes))
                    {
                        taken++;
                        bytes.Release();
                    }
                }
            });
            Task adder = Task.Run(() =>
            {
                for (int i = 0; i < 50; i++)
                {
                    messages.Add(4, "ab"u8, 0);
                    messages.AddChunk("cd"u8, 0);
                }

                messages.End();
            });
            if (round % 2 == 0)
            {
                Thread.SpinWait(round * 20);
                messages.Abort();
            }

            await Task.WhenAll(reader, adder).Bounded();
            Assert.That(taken, round % 2 == 0 ? Is.LessThanOrEqualTo(50) : Is.EqualTo(50));
        }
    }

    private void Add(ReadOnlySpan<byte> message) =>
        Assert.That(_messages.Add((uint)message.Length, message, 0), Is.Null);

    private string Take()
    {
        Assert.That(_messages.TryTake(out ReceivedMessage bytes));
        string text = Encoding.ASCII.GetString(bytes.TakeArray());
        bytes.Release();
        return text;
    }
}
