namespace RpcOverShm.Links;

/// <summary>
/// The thread that sleeps until the peer has released space, on behalf of all frames or bytes that did not fit. A
/// connection needs no other thread that waits for space: the reader thread must not, and callers wait for their
/// answers. A blocking write to a byte stream waits on its own thread.
/// </summary>
/// <param name="link">The link whose ring is full.</param>
/// <param name="sendOrPark">
/// Sends what fits. If more waits, marks this side as parked and returns the head to sleep on; else returns null.
/// </param>
/// <param name="unpark">Clears the mark.</param>
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
