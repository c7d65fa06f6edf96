using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Calls;

/// <summary>The credit of received messages: how much the peer may use, and when this side returns it.</summary>
public class InboundCreditTests
{
    private const int Window = 1000;
    private const int Record = 16;

    private readonly QueuedMessages _messages = new(null, Window);

    [TestCase(Window - Record, 1)]
    [TestCase(0, Window / Record)]
    public void Add_UpToTheWindow_IsTakenAndBeyondIsTheProtocolsFault(int length, int count)
    {
        for (int i = 0; i < count; i++)
        {
            Assert.That(Add(length));
        }

        Assert.That(() => Add(0), Throws.TypeOf<ProtocolException>().With.Message.Contains("allowed"));
    }

    [Test]
    public void AddChunk_BeyondTheWindow_IsTheProtocolsFault()
    {
        _messages.Add(5000, new byte[500], 0);

        Assert.That(() => _messages.AddChunk(new byte[500], 0), Throws.TypeOf<ProtocolException>());
    }

    [TestCase(4, new uint[0])]
    [TestCase(5, new uint[] { Window / 2 })]
    public void TryTake_OfMessages_GivesAllBackAtHalfAWindow(int count, uint[] grants)
    {
        for (int i = 0; i < count; i++)
        {
            Add(100 - Record);
            Take();
        }

        Assert.That(_messages.Grants, Is.EqualTo(grants));
    }

    [Test]
    public void Messages_OfAnEndlessStream_NeverNeedMoreThanTheWindow()
    {
        long allowed = Window;
        var random = new Random(1);
        for (int i = 0; i < 10_000; i++)
        {
            int length = random.Next(300);
            if (allowed >= length + Record)
            {
                allowed -= length + Record;
                Assert.That(Add(length));
            }
            else
            {
                Assert.That(Take());
                TakeGrants();
            }
        }

        while (Take())
        {
            TakeGrants();
        }

        Assert.That(Window - allowed, Is.InRange(0, Window / 2), "Exactly what the messages cost comes back.");

        void TakeGrants()
        {
            allowed += _messages.Grants.Sum(grant => grant);
            _messages.Grants.Clear();
        }
    }

    [Test]
    public async Task WaitAsync_ForAMessageLargerThanTheWindow_GivesItsPartsBack()
    {
        _messages.Add(5000, new byte[Window - Record], 0);
        Assert.That(_messages.Grants, Is.Empty, "Nobody reads yet: the peer waits.");

        ValueTask wait = _messages.WaitAsync();
        Assert.That(_messages.Grants, Is.EqualTo((uint[])[Window]));
        int rest = 5000 - (Window - Record);
        while (rest > 0)
        {
            int part = Math.Min(rest, (Window / 2) - Record);
            _messages.AddChunk(new byte[part], 0);
            rest -= part;
        }

        await wait.Bounded();
        Assert.That(_messages.TryTake(out ReceivedMessage bytes));
        Assert.That(bytes.Length, Is.EqualTo(5000));
        bytes.Release();
    }

    [Test]
    public void AddChunk_WithoutAReader_GivesNothingBack()
    {
        _messages.Add(900, new byte[400], 0);
        _messages.AddChunk(new byte[400], 0);

        Assert.That(_messages.Grants, Is.Empty, "A reader that pauses stalls its own call.");
    }

    [Test]
    public void Add_WhereOneMessageIsAlwaysRequested_GivesBackAtOnce()
    {
        var messages = new QueuedMessages(null, Window, isAlwaysRequested: true);
        messages.Add(5000, new byte[500], 0);

        Assert.That(messages.Grants, Is.EqualTo((uint[])[500 + Record]));
    }

    [Test]
    public void Add_OfASingleMessage_CostsNothing()
    {
        _messages.Add(5 * Window, new byte[Window], FrameFlags.Single);
        _messages.AddChunk(new byte[4 * Window], 0);
        Take();
        Assert.That(_messages.Grants, Is.Empty, "Nothing was paid.");

        Assert.That(Add(Window - Record), "The whole window is left.");
        Assert.That(() => Add(0), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void Add_OfASecondMessageThatIsSaidToBeSingle_CostsCredit()
    {
        _messages.Add(Window, new byte[Window], FrameFlags.Single);

        Assert.That(
            () => _messages.Add(2 * Window, new byte[Window], FrameFlags.Single), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void TryTake_AfterTheEnd_GivesNothingBack()
    {
        Add(900);
        _messages.End();

        Take();

        Assert.That(_messages.Grants, Is.Empty, "Nothing more is sent.");
    }

    private bool Add(int length) =>
        _messages.Add((uint)length, new byte[length], 0) is null;

    private bool Take()
    {
        bool isTaken = _messages.TryTake(out ReceivedMessage bytes);
        bytes.Release();
        return isTaken;
    }
}
