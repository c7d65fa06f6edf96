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
    public override bool IsForsaken => false;

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

    public override void DrainSocket(bool hasEnded) => link.DrainSocket(hasEnded);

    public override bool TryEnter() => link.TryEnter();

    public override void Leave() => link.Leave();

    protected override long? FindUnrungData()
    {
        if (!link.TryEnter())
        {
            return null;
        }

        long? at = receiver.HasUnrungData ? link.Reader.Position : null;
        link.Leave();
        return at;
    }

    protected override void OnLostDoorbell() => link.OnSafetyTimeout(isLostWakeup: true);
}
