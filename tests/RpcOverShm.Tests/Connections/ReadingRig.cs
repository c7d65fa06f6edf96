using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <summary>The reading parts of a connection that makes calls, and a server driven by hand.</summary>
internal sealed class ReadingRig : IDisposable
{
    public const string LoopThreadName = "RpcOverShm loop";

    private readonly FrameReceiver _receiver;
    private readonly ManualResetEventSlim _closed = new();

    public ReadingRig(int? processors = null)
    {
        Peer = new RawPeer(Links.Server);
        Sender = new FrameSender(Links.Client, Role);
        _receiver = new FrameReceiver(Links.Client, Sender, accept: null, onGoAway: () => { });
        Reader = new ConnectionReader(
            Links.Client, Role, _receiver, Sender, SchedulingMode.Adaptive, OnClosed, processors);
        Sender.RequestLoop = Reader.Request;
        Links.Client.Start(Reader, OnLinkEvent);
        Assert.That(Reader.Loop, Is.Not.Null, Links.Client.CloseReason?.Text);
    }

    public LinkPair Links { get; } = new();

    public RawPeer Peer { get; }

    public ReaderRole Role { get; } = new();

    public FrameSender Sender { get; }

    public ConnectionReader Reader { get; }

    public bool IsEnded => _closed.IsSet;

    /// <summary>The name of the thread that has ended the connection. Valid once it is ended.</summary>
    public string? EndedBy { get; private set; }

    /// <summary>Starts a call; returns after the peer has taken its first frame.</summary>
    public void Start(RecordingCall call)
    {
        Assert.That(Sender.Start(call, FrameFlags.None, default, default), Is.EqualTo(StartResult.Started));
        Reader.EnsureReader();
        Assert.That(Peer.Receive().Call, Is.EqualTo(call.Id));
    }

    /// <summary>Waits until the event loop sleeps, and the peer would ring it for this connection.</summary>
    public void WaitUntilLoopSleeps() => Assert.That(
        () => !Reader.IsActive
            && !Reader.Loop!.IsAwake
            && (Links.Client.Reader.ArmedFor & WakeMethods.Doorbell) != 0
            && ProcessResources.AreThreadsAsleep(LoopThreadName),
        Is.True.After(20_000, 2));

    public void Dispose()
    {
        Links.Client.Close(new CloseReason(CloseKind.Local, "The test is over."));
        Assert.That(_closed.Wait(Timeouts.Wait), "The reading ends.");
        Peer.Dispose();
        Links.Dispose();
        _closed.Dispose();
    }

    private void OnLinkEvent()
    {
        Reader.Request();
        Reader.SleepingCallers.SignalAll();
    }

    private void OnClosed()
    {
        Sender.Close();
        _receiver.Close();
        EndedBy = Thread.CurrentThread.Name;
        _closed.Set();
    }
}
