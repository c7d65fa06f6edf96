using RpcOverShm.Links;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Links;

/// <summary>A link on an event loop that drains its socket and does nothing else.</summary>
internal sealed class WatchedLink(PeerLink link) : EventSource
{
    public override bool HasWork => false;

    public override bool NeedsReader => false;

    public override bool Run(LoopThread me) => true;

    public override bool TryPark() => true;

    public override void OnSocket() => Request();

    public override void DrainSocket(bool hasEnded) => link.DrainSocket(hasEnded);

    protected override MissedDoorbell? FindMissedDoorbell() => null;

    protected override void OnLostDoorbell()
    {
    }
}
