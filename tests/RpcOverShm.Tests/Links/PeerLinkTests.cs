using Microsoft.Extensions.Logging;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Links;

public class PeerLinkTests
{
    private readonly LinkPair _links = new();
    private int _events;

    private LogGuard Logger => _links.Logger;

    private PeerLink Link => _links.Client;

    [TearDown]
    public void Close() => _links.Dispose();

    [Test]
    public async Task Close_Twice_KeepsTheFirstReason()
    {
        var first = new CloseReason(CloseKind.Local, "first");

        Link.Close(first);
        Link.Close(new CloseReason(CloseKind.PeerLost, "second"));

        Assert.That(Link.CloseReason, Is.SameAs(first));
        Assert.That(Link.IsClosed);
        await Timeouts.Eventually(() => Logger.Entries.Any(message => message.Id is > 100 and < 105));
        Assert.That(Logger.Entries.Where(message => message.Id is > 100 and < 105), Has.One.Items);
    }

    [Test]
    public async Task Close_ByManyThreads_HasOneReasonForAll()
    {
        using var start = new Barrier(4);
        TestThread.RunAll("closer", 4, i =>
        {
            start.SignalAndWait(Timeouts.Wait);
            Link.Close(new CloseReason(CloseKind.Local, $"{i}"));
        });

        await Timeouts.Eventually(() => Logger.Entries.Any(message => message.Message.Contains("closed")));
        Assert.That(Logger.Entries.Where(message => message.Message.Contains("closed")), Has.One.Items);
    }

    [Test]
    public async Task Close_BecauseOfAViolation_TellsThePeerWhy()
    {
        Link.Close(new CloseReason(CloseKind.PeerViolation, "That was wrong."));

        using Handshake.ReceivedHello? said = await ReceiveAsync(_links.Wires.ServerWire);
        Assert.That(said!.Hello.RefusalReason, Is.EqualTo(RefusalReason.Violation));
        Assert.That(said.Hello.RefusalText, Is.EqualTo("That was wrong."));
        Assert.That(await ReceiveAsync(_links.Wires.ServerWire), Is.Null);
    }

    [TestCase("Local")]
    [TestCase("PeerLost")]
    [TestCase("InternalError")]
    public async Task Close_ForAnotherReason_JustEndsTheSocket(string cause)
    {
        Link.Close(new CloseReason(Enum.Parse<CloseKind>(cause), "x"));

        Assert.That(await ReceiveAsync(_links.Wires.ServerWire), Is.Null);
    }

    [TestCase("Local", LogLevel.Debug)]
    [TestCase("PeerClosed", LogLevel.Debug)]
    [TestCase("PeerLost", LogLevel.Information)]
    [TestCase("PeerViolation", LogLevel.Error)]
    [TestCase("InternalError", LogLevel.Error)]
    public async Task Close_ForAReason_IsLoggedAsLoudAsItIsBad(string cause, LogLevel level)
    {
        Link.Close(new CloseReason(Enum.Parse<CloseKind>(cause), "the reason"));

        await Timeouts.Eventually(() => Logger.Entries.Count == 1);
        LogEntry message = Logger.Entries.Single();
        Assert.That(message.Level, Is.EqualTo(level));
        Assert.That(message.Message, Does.Contain("the reason").And.Contain($"process {Environment.ProcessId}"));
    }

    [Test]
    public void Close_WhileAThreadSleepsForData_WakesIt()
    {
        uint localEvents = Link.LocalEvents;
        Sleeper sleeper = new Sleeper(() => Link.SleepForData(0, localEvents)).WaitUntilAsleep();

        Link.Close(new CloseReason(CloseKind.Local, "over"));

        Assert.That(sleeper.Join().WasWoken);
    }

    [Test]
    public void SleepForData_WhenThePeerHasWritten_ReturnsAtOnce()
    {
        SharedMemoryOrder.WriteFenced(ref _links.ServerSegment.Own.Tail, 16);

        Assert.That(Link.SleepForData(0, Link.LocalEvents));
    }

    [Test]
    public void WakePeerForData_FromTheOtherEnd_WakesASleeper()
    {
        uint localEvents = Link.LocalEvents;
        Sleeper sleeper = new Sleeper(() => Link.SleepForData(0, localEvents)).WaitUntilAsleep();

        SharedMemoryOrder.WriteFenced(ref _links.ServerSegment.Own.Tail, 16);
        _links.Server.WakePeerForData(WakeMethods.Futex);

        Assert.That(sleeper.Join().WasWoken);
    }

    [Test]
    public async Task OnSafetyTimeout_WithALostWakeUp_IsCountedAndLogged()
    {
        Link.OnSafetyTimeout(isLostWakeup: true);
        Link.OnSafetyTimeout(isLostWakeup: false);

        Assert.That(Link.LostWakeups, Is.EqualTo(1));
        Assert.That((await Logger.WaitForAsync(LogGuard.LostWakeup)).Message, Does.Contain("Please report this"));
    }

    [Test]
    public void WaitForLateWake_WhenTheWakeComesLate_IsTrue()
    {
        SharedMemoryOrder.WriteFenced(ref _links.ServerSegment.Own.Tail, 16);
        using var stop = new CancellationTokenSource();
        TestThread peer = TestThread.Start("peer", () =>
        {
            while (!stop.IsCancellationRequested)
            {
                _links.Server.WakePeerForData(WakeMethods.Futex);
            }
        });

        // Repeats if the other thread got no processor within the time that a wake-up may be late.
        bool isWoken = false;
        for (int tries = 0; tries < 3 && !isWoken; tries++)
        {
            isWoken = Link.WaitForLateWake(Link.LocalEvents);
        }

        stop.Cancel();
        peer.Join();
        Assert.That(isWoken);
    }

    [Test]
    public void WaitForLateWake_WithoutAWake_IsFalse()
    {
        SharedMemoryOrder.WriteFenced(ref _links.ServerSegment.Own.Tail, 16);

        Assert.That(Link.WaitForLateWake(Link.LocalEvents), Is.False);
    }

    [Test]
    public void WaitForLateWake_OfALinkThatWasClosedSinceTheSleep_DoesNotWait()
    {
        uint localEvents = Link.LocalEvents;
        Link.Close(new CloseReason(CloseKind.Local, "over"));

        Assert.That(Link.WaitForLateWake(localEvents), "A wait that times out says that no wake came.");
    }

    [Test]
    public void OnSafetyTimeout_WhenThePeerHasGone_SeesItWithoutTheEventLoop()
    {
        Link.OnSafetyTimeout(isLostWakeup: false);
        Assert.That(Link.IsPeerGone, Is.False);

        _links.Wires.ServerWire.ShutDown();
        Link.OnSafetyTimeout(isLostWakeup: false);

        Assert.That(Link.IsPeerGone);
    }

    [Test]
    public void OnSafetyTimeout_OfAClosedLink_DoesNothing()
    {
        Link.Close(new CloseReason(CloseKind.Local, "over"));

        Assert.That(() => Link.OnSafetyTimeout(isLostWakeup: false), Throws.Nothing);
        Assert.That(Link.IsPeerGone, Is.False);
    }

    [TestCase(true, "PeerClosed")]
    [TestCase(false, "PeerLost")]
    public void CloseAfterPeer_OfAPeerThatSaidSoOrNot_TellsThemApart(bool isLeaving, string cause)
    {
        Link.IsPeerLeaving = isLeaving;

        Link.CloseAfterPeer();

        Assert.That(Link.CloseReason!.Kind.ToString(), Is.EqualTo(cause));
    }

    [Test]
    public void Start_WhenThePeerGoes_SaysSoAndLeavesTheLinkOpen()
    {
        Start();

        _links.Wires.ServerWire.ShutDown();

        Assert.That(() => Link.IsPeerGone, Is.True.After(20_000, 5));
        Assert.That(Link.IsClosed, Is.False, "What it wrote is still to be read.");
        Assert.That(() => Volatile.Read(ref _events), Is.EqualTo(1).After(20_000, 5));
    }

    [Test]
    public void Start_WhenThisSideCloses_SaysSo()
    {
        Start();

        Link.Close(new CloseReason(CloseKind.Local, "over"));

        Assert.That(Volatile.Read(ref _events), Is.Positive);
    }

    private static Task<Handshake.ReceivedHello?> ReceiveAsync(Wire wire) =>
        Handshake.ReceiveAsync(wire, CancellationToken.None).Bounded();

    private void Start() => Link.Start(new WatchedLink(Link), () => Interlocked.Increment(ref _events));
}
