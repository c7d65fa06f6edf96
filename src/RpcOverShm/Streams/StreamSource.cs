using RpcOverShm.Links;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Streams;

/// <summary>
/// A byte stream as its event loop sees it: the loop completes asynchronous reads and writes that had to wait. While
/// the loop looks at the stream, the memory stays mapped.
/// </summary>
internal sealed class StreamSource(PeerLink link, ByteReceiver receiver, ByteSender sender) : EventSource
{
    public override bool HasWork => receiver.HasWork || sender.HasWork;

    // A read or write that begins to wait requests the loop.
    public override bool NeedsReader => false;

    public override bool Run(LoopThread me)
    {
        receiver.CompleteIfReadable();
        if (sender.WriteRest())
        {
            Request();
        }

        return true;
    }

    public override bool TryPark() => receiver.TryPark() && !sender.HasWork;

    public override void OnSocket() => Request();

    public override void DrainSocket(bool hasEnded)
    {
        link.DrainSocket(hasEnded);

        // A doorbell for space that came after the run was read just now: the peer does not ring twice.
        if (sender.IsWaiting)
        {
            Request();
        }
    }

    public override bool TryEnter() => link.TryEnter();

    public override void Leave() => link.Leave();

    protected override MissedDoorbell? FindMissedDoorbell()
    {
        if (!link.TryEnter())
        {
            return null;
        }

        MissedDoorbell? missed = null;
        if (receiver.HasMissedDoorbell)
        {
            missed = new MissedDoorbell(IsForSpace: false, link.Reader.Position);
        }
        else if (sender.HasWork)
        {
            missed = new MissedDoorbell(IsForSpace: true, link.Writer.HeadHint);
        }

        link.Leave();
        return missed;
    }

    protected override void OnLostDoorbell() => link.OnSafetyTimeout(isLostWakeup: true);
}
