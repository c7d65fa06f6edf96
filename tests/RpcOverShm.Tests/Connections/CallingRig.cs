using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;
using RpcOverShm.Tests.Links;
using RpcOverShm.Tests.Sending;

namespace RpcOverShm.Tests.Connections;

/// <summary>A connection that makes calls, and a server driven by hand.</summary>
internal sealed class CallingRig : IDisposable
{
    private readonly LinkPair _links;

    public CallingRig(uint maxCalls = 100)
    {
        _links = new LinkPair(maxCalls: maxCalls);
        Peer = new RawPeer(_links.Server);
        Connection = new Connection(_links.Client, SchedulingMode.Adaptive, accept: null, onGoAway: null);
        Connection.Start();
    }

    public LogGuard Logger => _links.Logger;

    public RawPeer Peer { get; }

    public Connection Connection { get; }

    public LinkPair Links => _links;

    /// <summary>Starts a call; returns after the peer has taken its first frame.</summary>
    public RecordingCall Start()
    {
        var call = new RecordingCall();
        Assert.That(Connection.StartCall(call, FrameFlags.None, "head"u8, default), Is.EqualTo(StartResult.Started));
        Assert.That(Peer.Receive().Call, Is.EqualTo(call.Id));
        return call;
    }

    public void Dispose()
    {
        Connection.Close(new CloseReason(CloseKind.Local, "The test is over."));
        Assert.That(Connection.Closed.Wait(Timeouts.Wait), "The connection ends.");
        Peer.Dispose();
        _links.Dispose();
    }
}
