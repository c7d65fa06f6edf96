using System.Collections.Concurrent;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Connections;

/// <summary>A connection that serves calls, and a client driven by hand.</summary>
internal sealed class ServingRig : IDisposable
{
    private readonly BlockingCollection<RecordingCall> _accepted = [];

    public ServingRig()
    {
        Peer = new RawPeer(Links.Client);
        Connection = new Connection(Links.Server, SchedulingMode.Adaptive, _ => Accept(), null);
        Connection.Start();
    }

    public RawPeer Peer { get; }

    public Connection Connection { get; }

    public LinkPair Links { get; } = new();

    /// <summary>The action for each event of a call; must be set before the call arrives.</summary>
    public Action<RecordingCall, string>? OnEvent { get; set; }

    public static CallId Id(int slot, uint generation = 1) => new(slot, generation, false);

    /// <summary>Returns the next accepted call.</summary>
    public RecordingCall Take()
    {
        Assert.That(_accepted.TryTake(out RecordingCall? call, Timeouts.Wait), "A call was accepted.");
        return call!;
    }

    /// <summary>Starts a call by hand and returns it once the connection has accepted it.</summary>
    public RecordingCall Start(int slot = 0)
    {
        Peer.Send(new RawFrame(FrameKind.CallStart, Id(slot), Head: [1, 2, 3]));
        RecordingCall call = Take();
        Settle();
        return call;
    }

    /// <summary>Waits until the calls have received everything that the peer sent.</summary>
    public void Settle() => Assert.That(() => Links.Server.Reader.HasData, Is.False.After(20_000, 2));

    public void Dispose()
    {
        Connection.Close(new CloseReason(CloseKind.Local, "The test is over."));
        Assert.That(Connection.Closed.Wait(Timeouts.Wait), "The connection ends.");
        Peer.Dispose();
        Links.Dispose();
        _accepted.Dispose();
    }

    private RecordingCall Accept()
    {
        var call = new RecordingCall(isServed: true) { OnEvent = OnEvent };
        _accepted.Add(call);
        return call;
    }
}
