using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <summary>A connection that makes calls, and a server driven by hand.</summary>
internal sealed class CallingRig : IDisposable
{
    public CallingRig(LinkPair? links = null, IncomingBounds? bounds = null)
    {
        Links = links ?? new LinkPair();
        Peer = new RawPeer(Links.Server);
        Connection = new Connection(Links.Client, SchedulingMode.Adaptive, accept: null, onGoAway: null, bounds);
        Connection.Start();
    }

    public RawPeer Peer { get; }

    public Connection Connection { get; }

    public LinkPair Links { get; }

    /// <summary>Starts a call; returns after the peer has taken its first frame.</summary>
    public RecordingCall Start()
    {
        var call = new RecordingCall();
        Assert.That(Connection.StartCall(call, FrameFlags.None, "head"u8, default), Is.EqualTo(StartResult.Started));
        Assert.That(Peer.Receive().Call, Is.EqualTo(call.Id));
        return call;
    }

    /// <summary>Starts threads that block in a call each.</summary>
    public TestThread[] Block(out RecordingCall[] calls, int count)
    {
        calls = [.. Enumerable.Range(0, count).Select(_ => new RecordingCall(latch: new AutoResetLatch()))];
        return
        [
            .. calls.Select(call => TestThread.Start(
                "caller", () => Connection.RunCall(call, FrameFlags.None, default, default, null))),
        ];
    }

    public void Dispose()
    {
        Connection.Close(new CloseReason(CloseKind.Local, "The test is over."));
        Assert.That(Connection.Closed.Wait(Timeouts.Wait), "The connection ends.");
        Peer.Dispose();
        Links.Dispose();
    }
}
