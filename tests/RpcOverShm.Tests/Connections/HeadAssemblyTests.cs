using RpcOverShm.Buffers;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Connections;

public class HeadAssemblyTests
{
    private readonly HeadAssembly _head = new(FrameKind.Headers, FrameFlags.HeadContinues, limitBytes: 10);

    [TearDown]
    public void Release() => _head.Dispose();

    [Test]
    public void Append_OfParts_PutsThemTogether()
    {
        _head.Append("abc"u8);
        _head.Append([]);
        _head.Append("def"u8);

        Assert.That(_head.Bytes.SequenceEqual("abcdef"u8));
        Assert.That(_head.IsTooLarge, Is.False);
        Assert.That((_head.Kind, _head.Flags), Is.EqualTo((FrameKind.Headers, FrameFlags.HeadContinues)));
    }

    [Test]
    public void Append_UpToTheLimit_IsTaken()
    {
        _head.Append(new byte[7]);
        _head.Append(new byte[3]);

        Assert.That(_head.IsTooLarge, Is.False);
        Assert.That(_head.Bytes.Length, Is.EqualTo(10));
    }

    [Test]
    public void Append_BeyondTheLimit_DropsAllAndWhatStillComes()
    {
        bool[] taken = [_head.Append(new byte[7]), _head.Append(new byte[4]), _head.Append(new byte[1])];

        Assert.That(taken, Is.EqualTo((bool[])[true, false, true]), "It is told once.");
        Assert.That(_head.IsTooLarge);
        Assert.That(_head.Bytes.Length, Is.Zero);
    }

    [Test]
    public void Append_OfNoBytes_CountsTheHeadItself()
    {
        var budget = new BufferBudget("Option", limitBytes: 1 << 20);
        var head = new HeadAssembly(FrameKind.CallStart, FrameFlags.HeadContinues, limitBytes: 10, budget);

        Assert.That(head.Append([]));

        Assert.That(budget.UsedBytes, Is.GreaterThanOrEqualTo(1 << 10));
        head.Dispose();
        Assert.That(budget.UsedBytes, Is.Zero);
    }

    [Test]
    public void Append_OfOneLargePart_IsTooLargeAtOnce()
    {
        _head.Append(new byte[11]);

        Assert.That(_head.IsTooLarge);
    }

    [Test]
    public void DropAfter_OfAHeadThatIsNotWhole_DropsItAndSaysSo()
    {
        var limit = TimeSpan.FromMilliseconds(1);
        TimeSpan? told = null;
        using var isLate = new ManualResetEventSlim();
        _head.DropAfter(limit, late =>
        {
            told = late;
            isLate.Set();
        });

        Assert.That(isLate.Wait(Timeouts.Wait));
        Assert.That(told, Is.EqualTo(limit));
        Assert.That(_head.TryEnd(), Is.False, "It was dropped.");
    }
}
