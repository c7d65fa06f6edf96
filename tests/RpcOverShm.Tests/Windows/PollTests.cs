using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Windows;

/// <summary>Both polls: what they tell, and what they leave when they end.</summary>
[SupportedOSPlatform("windows")]
[WindowsFixture(true)]
[WindowsFixture(false)]
public sealed class PollTests(bool isDoor) : IDisposable
{
    private readonly PipePair _pair = new();
    private readonly PollThread _poll = new(isDoor);
    private readonly SemaphoreSlim _told = new(0);

    private Wire Client => _pair.Client;

    private Wire Server => _pair.Server;

    public void Dispose()
    {
        _poll.Remove(Client);
        _poll.Dispose();
        _pair.Dispose();
        _told.Dispose();
    }

    [Test]
    public void Wait_WithAByte_TellsOnceAndAgainAfterItWasRead()
    {
        Server.Send([1], []);
        _poll.Add(Client, _ => _told.Release());

        AssertTold();
        Assert.That(PollReceive(), Is.EqualTo(1));
        for (int i = 0; i < 100; i++)
        {
            Server.Ring(1);
            AssertTold();
            Assert.That(PollReceive(), Is.EqualTo(1));
        }
    }

    [Test]
    public void Add_WithBytesThatWereReadAlready_TellsOfThem()
    {
        Server.Send([1, 2], []);
        PipePair.Receive(Client, 1);

        _poll.Add(Client, _ => _told.Release());

        AssertTold();
        Assert.That(PollReceive(), Is.EqualTo(1));
    }

    [Test]
    public void Wait_WithTheEndOfThePeer_TellsTheEnd()
    {
        bool hasEnded = false;
        _poll.Add(Client, ended =>
        {
            Volatile.Write(ref hasEnded, ended);
            _told.Release();
        });

        Server.Dispose();

        AssertTold();
        Assert.That(Volatile.Read(ref hasEnded));
        Assert.That(Client.Receive(new byte[1], []), Is.Zero);
        Assert.That(Client.IsAtEnd);
    }

    [Test]
    public void Remove_WithAReadInProgress_EndsIt()
    {
        _poll.Add(Client, _ => _told.Release());
        _poll.Remove(Client);
        _poll.Remove(Client);

        Server.Send([1], []);

        Assert.That(_told.Wait(50), Is.False);
    }

    // At a port nobody would know of a read that begins then, and of its memory.
    [Test]
    public void Remove_BeforeTheBytesWereReceived_LetsNoReadBegin()
    {
        Server.Send([1], []);
        _poll.Add(Client, _ => _told.Release());
        AssertTold();

        _poll.Remove(Client);

        Assert.That(Client.Receive(new byte[64], []), Is.EqualTo(1));
        Assert.That(Client.Receive(new byte[64], []), Is.EqualTo(isDoor ? -1 : 0));
    }

    [Test]
    public void IsAtEnd_WithAPollThatIsBusy_IsTrue()
    {
        using var isOver = new ManualResetEventSlim();
        _poll.Add(Client, _ =>
        {
            if (PollReceive() > 0)
            {
                _told.Release();
                SpinWait.SpinUntil(() => isOver.IsSet, Timeouts.Wait);
            }
        });
        Server.Send([1], []);
        AssertTold();
        Assert.That(Client.IsAtEnd, Is.False);

        Server.Dispose();

        Assert.That(() => Client.IsAtEnd, Is.True.After(20_000, 10));
        isOver.Set();
    }

    [Test]
    public void Wait_OfAPollWithoutAnything_TimesOut()
    {
        using EventPoll poll = HostSystem.Current.TryCreatePoll(isDoor)!;
        var events = new EventPoll.Event[EventPoll.MostEvents];

        Assert.That(poll.Wait(events, 0), Is.Zero);
        Assert.That(poll.Wait(events, 20), Is.Zero);
        poll.Wake();
        Assert.That(poll.Wait(events, -1), Is.EqualTo(1));
        Assert.That(events[0].Key, Is.Zero);
    }

    private void AssertTold() => Assert.That(_told.Wait(Timeouts.Wait));

    // The receive that finds nothing lets the poll tell of the next byte.
    private int PollReceive()
    {
        int sum = 0;
        byte[] buffer = new byte[64];
        while (Client.Receive(buffer, []) is > 0 and int count)
        {
            sum += count;
        }

        return sum;
    }
}
