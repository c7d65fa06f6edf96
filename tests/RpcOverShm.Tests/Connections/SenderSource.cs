using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Connections;

/// <summary>The sending half of a connection as its event loop sees it. Nothing is read.</summary>
internal sealed class SenderSource(PeerLink link, FrameSender sender) : EventSource
{
    public override bool HasWork => sender.CanSendQueued;

    public override bool NeedsReader => false;

    public override bool Run(LoopThread me)
    {
        sender.SendQueued();
        return true;
    }

    public override bool TryPark() => true;

    public override void OnSocket() => Request();

    public override void DrainSocket(bool hasEnded) => link.DrainSocket(hasEnded);

    public override bool TryEnter() => link.TryEnter();

    public override void Leave() => link.Leave();

    protected override MissedDoorbell? FindMissedDoorbell() => null;

    protected override void OnLostDoorbell()
    {
    }
}
