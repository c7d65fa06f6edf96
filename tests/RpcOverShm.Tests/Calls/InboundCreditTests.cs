using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Calls;

/// <summary>The credit of received messages: what the peer may use, and when it gets it back.</summary>
public class InboundCreditTests
{
    private const int Window = 1000;
    private const int Record = 16;

    [Test]
    public void Add_UpToTheWindow_IsTakenAndBeyondIsTheProtocolsFault()
    {
        QueuedMessages messages = New();
        Assert.That(Add(messages, Window - Record));

        Assert.That(() => Add(messages, 0), Throws.TypeOf<ProtocolException>().With.Message.Contains("allowed"));
    }

    [Test]
    public void Add_OfEmptyMessages_IsBoundedToo()
    {
        QueuedMessages messages = New();
        for (int i = 0; i < Window / Record; i++)
        {
            Assert.That(Add(messages, 0));
        }

        Assert.That(() => Add(messages, 0), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void AddChunk_BeyondTheWindow_IsTheProtocolsFault()
    {
        QueuedMessages messages = New();
        messages.Add(5000, new byte[500], 0);

        Assert.That(() => messages.AddChunk(new byte[500], 0), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void TryTake_OfLessThanHalfAWindow_GivesNothingBackYet()
    {
        QueuedMessages messages = New();
        Add(messages, 100);

        Take(messages);

        Assert.That(messages.Grants, Is.Empty);
    }

    [Test]
    public void TryTake_OfHalfAWindow_GivesAllOfItBack()
    {
        QueuedMessages messages = New();
        for (int i = 0; i < 5; i++)
        {
            Add(messages, 100 - Record);
        }

        for (int i = 0; i < 5; i++)
        {
            Take(messages);
        }

        Assert.That(messages.Grants, Is.EqualTo((uint[])[500]));
    }

    [Test]
    public void Messages_OfAnEndlessStream_NeverNeedMoreThanTheWindow()
    {
        QueuedMessages messages = New();
        long allowed = Window;
        var random = new Random(1);
        for (int i = 0; i < 10_000; i++)
        {
            int length = random.Next(300);
            if (allowed >= length + Record)
            {
                allowed -= length + Record;
                Assert.That(Add(messages, length));
            }
            else
            {
                Take(messages);
                allowed += messages.Grants.Sum(grant => grant);
                messages.Grants.Clear();
            }
        }
    }

    [Test]
    public async Task WaitAsync_ForAMessageLargerThanTheWindow_GivesItsPartsBack()
    {
        QueuedMessages messages = New();
        messages.Add(5000, new byte[Window - Record], 0);
        Assert.That(messages.Grants, Is.Empty, "Nobody reads yet: the peer waits.");

        ValueTask wait = messages.WaitAsync();
        Assert.That(messages.Grants, Is.EqualTo((uint[])[Window]));
        int rest = 5000 - (Window - Record);
        while (rest > 0)
        {
            int part = Math.Min(rest, (Window / 2) - Record);
            messages.AddChunk(new byte[part], 0);
            rest -= part;
        }

        await wait.Bounded();
        Assert.That(messages.TryTake(out ReceivedMessage bytes));
        Assert.That(bytes.Length, Is.EqualTo(5000));
        bytes.Release();
    }

    [Test]
    public void AddChunk_WithoutAReader_GivesNothingBack()
    {
        QueuedMessages messages = New();
        messages.Add(900, new byte[400], 0);
        messages.AddChunk(new byte[400], 0);

        Assert.That(messages.Grants, Is.Empty, "A reader that pauses stalls its own call.");
    }

    [Test]
    public void Add_WhereOneMessageIsAlwaysWanted_GivesBackAtOnce()
    {
        QueuedMessages messages = New(isAlwaysRequested: true);
        messages.Add(5000, new byte[500], 0);

        Assert.That(messages.Grants, Is.EqualTo((uint[])[500 + Record]));
    }

    [Test]
    public void Add_OfASingleMessage_CostsNothing()
    {
        QueuedMessages messages = New();
        messages.Add(5 * Window, new byte[Window], FrameFlags.Single);
        messages.AddChunk(new byte[4 * Window], 0);
        Take(messages);
        Assert.That(messages.Grants, Is.Empty, "Nothing was paid.");

        Assert.That(Add(messages, Window - Record), "The whole window is left.");
        Assert.That(() => Add(messages, 0), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void Add_OfASecondMessageThatIsSaidToBeSingle_CostsCredit()
    {
        QueuedMessages messages = New();
        messages.Add(Window, new byte[Window], FrameFlags.Single);

        Assert.That(
            () => messages.Add(2 * Window, new byte[Window], FrameFlags.Single), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void TryTake_AfterTheEnd_GivesNothingBack()
    {
        QueuedMessages messages = New();
        Add(messages, 900);
        messages.End();

        Take(messages);

        Assert.That(messages.Grants, Is.Empty, "Nothing more is sent.");
    }

    [Test]
    public void TryTake_OfEverything_GivesBackExactlyWhatItCost()
    {
        QueuedMessages messages = New();
        long sent = 0;
        var random = new Random(2);
        for (int i = 0; i < 1000; i++)
        {
            int length = random.Next(200);
            Assert.That(Add(messages, length));
            sent += length + Record;
            Take(messages);
        }

        Assert.That(sent - messages.Grants.Sum(grant => (long)grant), Is.InRange(0, Window / 2));
    }

    private static QueuedMessages New(bool isAlwaysRequested = false) => new(null, Window, isAlwaysRequested);

    private static bool Add(QueuedMessages messages, int length) =>
        messages.Add((uint)length, new byte[length], 0) is null;

    private static void Take(QueuedMessages messages)
    {
        if (messages.TryTake(out ReceivedMessage bytes))
        {
            bytes.Release();
        }
    }
}
