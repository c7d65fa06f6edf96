namespace RpcOverShm.Links;

/// <summary>
/// The thread that sleeps until the peer has released space, on behalf of all frames or bytes that did not fit. A
/// connection has no other thread that waits for space: the reader thread must not block, and callers wait for answers
/// only. In a byte stream a blocking write waits on its caller's thread. <paramref name="sendOrPark"/> sends what fits;
/// if some does not, it marks this side as parked and returns the head to sleep on, else null.
/// </summary>
internal sealed class SpaceWaiter(PeerLink link, Func<long?> sendOrPark, Action unpark)
    : LingeringThread(link, "RpcOverShm space")
{
    protected override void Serve()
    {
        while (true)
        {
            uint localEvents = Link.LocalEvents;
            if (Link.IsClosed || sendOrPark() is not { } head)
            {
                return;
            }

            Link.SleepForSpace(head, localEvents);
            unpark();
        }
    }
}
