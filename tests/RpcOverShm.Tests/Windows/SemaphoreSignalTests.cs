using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>The signals of both sides of a link: who wakes whom, and what a peer cannot do.</summary>
[WindowsFixture]
[SupportedOSPlatform("windows")]
public sealed unsafe class SemaphoreSignalTests : IDisposable
{
    private const int HeadAt = 8; // words between tail and head
    private static readonly TimeSpan s_never = TimeSpan.FromMinutes(5);
    private static readonly TimeSpan s_brief = TimeSpan.FromMilliseconds(20);

    private readonly SectionMemory _ofOne = SectionMemory.Create(4096);
    private readonly SectionMemory _ofOther = SectionMemory.Create(4096);
    private readonly SemaphoreSignal _one = new();
    private readonly SemaphoreSignal _other = new();

    public SemaphoreSignalTests()
    {
        _one.Attach(WordsOf(_ofOne, _ofOther), Handles.OfPeer(_other));
        _other.Attach(WordsOf(_ofOther, _ofOne), Handles.OfPeer(_one));
    }

    private SharedWord OwnTail => Word(_ofOne, 0);

    private SharedWord TailOfPeer => Word(_ofOther, 0);

    private SharedWord HeadOfPeer => Word(_ofOther, HeadAt);

    public void Dispose()
    {
        _one.Dispose();
        _other.Dispose();
        _ofOne.Dispose();
        _ofOther.Dispose();
    }

    [Test]
    public void Wait_WithoutAWake_TimesOut() =>
        Assert.That(_one.Wait(TailOfPeer, 0, _one.LocalEvents, s_brief), Is.False);

    [Test]
    public void Wait_WithAnotherValue_Returns()
    {
        Volatile.Write(ref *(long*)_ofOther.Address, 7);

        Assert.That(_one.Wait(TailOfPeer, 0, _one.LocalEvents, s_never));
    }

    [Test]
    public void Wait_WithALaterLocalEvent_Returns()
    {
        uint seen = _one.LocalEvents;
        _one.RaiseLocalEvent();

        Assert.That(_one.Wait(TailOfPeer, 0, seen, s_never));
        Assert.That(_one.Wait(TailOfPeer, 0, _one.LocalEvents, s_brief), Is.False, "The event is told once.");
    }

    [TestCase(0)]
    [TestCase(HeadAt)]
    public void Wake_OfTheWordOnWhichAThreadSleeps_WakesIt(int at)
    {
        TestThread sleeper = Sleep(Word(_ofOther, at));

        _other.Wake(Word(_ofOther, at));

        sleeper.Join();
    }

    [Test]
    public void Wake_OfTheOtherWord_WakesNobody()
    {
        _other.Wake(HeadOfPeer);

        Assert.That(_one.Wait(TailOfPeer, 0, _one.LocalEvents, s_brief), Is.False);
    }

    [Test]
    public void Wake_BeforeTheSleep_IsNotLost()
    {
        _other.Wake(TailOfPeer);

        Assert.That(_one.Wait(TailOfPeer, 0, _one.LocalEvents, s_never));
    }

    [Test]
    public void Wake_WithFourSleepers_WakesAll()
    {
        TestThread[] sleepers = [.. Enumerable.Range(0, 4).Select(_ => Sleep(TailOfPeer))];

        // Those that do not sleep yet see the word.
        Volatile.Write(ref *(long*)_ofOther.Address, 1);
        _other.Wake(TailOfPeer);

        Array.ForEach(sleepers, static sleeper => sleeper.Join());
    }

    [Test]
    public void RaiseLocalEvent_WithSleepersOnBothWords_WakesAll()
    {
        TestThread[] sleepers = [Sleep(TailOfPeer), Sleep(TailOfPeer), Sleep(HeadOfPeer)];

        _one.RaiseLocalEvent();

        Array.ForEach(sleepers, static sleeper => sleeper.Join());
    }

    [Test]
    public void Dispose_WithASleeper_WakesIt()
    {
        TestThread sleeper = Sleep(TailOfPeer);

        _one.Dispose();

        sleeper.Join();
        Assert.That(() => _one.Wake(OwnTail), Throws.Nothing);
        Assert.That(_one.RaiseLocalEvent, Throws.Nothing);
        Assert.That(_one.Wait(TailOfPeer, 0, _one.LocalEvents, s_never));
    }

    [Test]
    public void Wake_ManyTimesInTurn_LosesNone()
    {
        const int Rounds = 2000;
        TestThread other = TestThread.Start("other", () => Answer(_other, _ofOther, _ofOne, Rounds, isFirst: false));

        Answer(_one, _ofOne, _ofOther, Rounds, isFirst: true);

        other.Join();
    }

    [Test]
    public void Offer_ToAPeer_CannotBeTakenByIt()
    {
        using KernelHandle ofPeer = Handles.OfPeer(_one.Offer[0]);

        Assert.That(Handles.CanTake(ofPeer), Is.False);
        Assert.That(Handles.CanHave(ofPeer, WindowsNative.SemaphoreModifyState), Is.True);
    }

    [Test]
    public void Attach_WithOtherHandles_FailsAndClosesThem()
    {
        using var signal = new SemaphoreSignal();
        SafeHandle[] few = [Handles.OfPeer(_one.Offer[0])];
        SafeHandle[] others = [KernelHandle.CreateEvent(), KernelHandle.CreateEvent()];

        Assert.That(() => signal.Attach(default, few), Throws.TypeOf<SegmentException>());
        Assert.That(() => signal.Attach(default, others), Throws.TypeOf<SegmentException>());
        Assert.That(few.Concat(others).Select(static handle => handle.IsClosed), Is.All.True);
    }

    private TestThread Sleep(SharedWord word)
    {
        uint seen = _one.LocalEvents;
        return TestThread.Start("sleeper", () => Assert.That(_one.Wait(word, 0, seen, s_never)));
    }

    private static SharedWord Word(SectionMemory memory, int at) => new(ref ((long*)memory.Address)[at]);

    private static SignalWords WordsOf(SectionMemory own, SectionMemory peer) =>
        new(Word(own, 0), Word(own, HeadAt), Word(peer, 0), Word(peer, HeadAt));

    private static void Answer(
        SemaphoreSignal signal, SectionMemory own, SectionMemory peer, int rounds, bool isFirst)
    {
        for (int round = 1; round <= rounds; round++)
        {
            int awaited = isFirst ? round - 1 : round;
            while (Volatile.Read(ref *(long*)peer.Address) < awaited)
            {
                Assert.That(signal.Wait(Word(peer, 0), (uint)(awaited - 1), signal.LocalEvents, Timeouts.Wait));
            }

            Interlocked.Exchange(ref *(long*)own.Address, round);
            signal.Wake(Word(own, 0));
        }
    }
}
