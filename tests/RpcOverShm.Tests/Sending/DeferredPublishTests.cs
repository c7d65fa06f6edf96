using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Sending;

/// <summary>
/// The time that frames of inline user code may stay unpublished while more records wait to be read. The test's thread
/// is the one that runs the user code.
/// </summary>
public class DeferredPublishTests
{
    private const int MostFrames = 16;

    private readonly SenderRig _rig = new();
    private RecordingCall _call = null!;

    [SetUp]
    public void EnterUserCode()
    {
        _call = _rig.Start("head"u8);
        _rig.Peer.ReceiveAll();
        _rig.Peer.Send(new RawFrame(FrameKind.GoAway));
        var me = new InlineThread(_rig.Role) { IsInUserCode = true, MayDefer = true };
        Assert.That(_rig.Role.TryTake(out me.Token));
        _rig.Role.EnterUserCode(ref me.Token);
        InlineThread.Current = me;
    }

    [TearDown]
    public void Close()
    {
        InlineThread.Current = null;
        _rig.Dispose();
    }

    [Test]
    public void Frames_OfQuickCode_WaitUntilThereAreSixteen()
    {
        long before = _rig.Tail;
        for (int sent = 1; sent < MostFrames; sent++)
        {
            Send([1]);
            Assert.That(_rig.Tail, Is.EqualTo(before), $"after {sent}");
        }

        Send([1]);

        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(MostFrames));
        Assert.That(_rig.Sender.HasDeferred, Is.False);
    }

    [Test]
    public void Frame_OfCodeThatIsNotQuick_IsPublishedAtOnce()
    {
        InlineThread.Current!.MayDefer = false;

        Send([1]);

        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    [Test]
    public void Frame_WithNoRecordWaiting_IsPublishedAtOnce()
    {
        _rig.Links.Client.Reader.TryRead(out _, out _);
        _rig.Links.Client.Reader.Release();

        Send([1]);

        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    // Many bytes are published early. They must not become visible without the wake-up of a peer that sleeps.
    [Test]
    public void Frames_ThatArePublishedEarly_WakeThePeer()
    {
        uint localEvents = _rig.Peer.Link.LocalEvents;
        _rig.Peer.PublishHead();
        long position = _rig.Peer.Link.Reader.Position;
        Assert.That(_rig.Peer.Link.Reader.Arm());
        using var isAsleep = new ManualResetEventSlim();
        bool isWoken = false;
        var peer = TestThread.Start("peer", () =>
        {
            isAsleep.Set();
            isWoken = _rig.Peer.Link.SleepForData(position, localEvents, Timeouts.Wait);
        });
        isAsleep.Wait();

        Send(BytePattern.Of(5_000));

        peer.Join();
        Assert.That(isWoken, "The peer was woken, or saw the bytes before it slept.");
        Assert.That(_rig.Peer.ReceiveAll(), Has.Count.EqualTo(1));
    }

    private void Send(byte[] body) => _rig.SendUnawaited(_call, body);
}
