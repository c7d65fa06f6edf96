using RpcOverShm.Protocol;
using RpcOverShm.Rings;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Corrupted rings, which the victim detects before it parses a frame; either side can write them.</summary>
internal static class RingViolations
{
    private const string Corrupted = "ring is corrupted";

    public static IEnumerable<Violation> All =>
    [
        new("tail that is no multiple of 16", peer => peer.SetTail(8), Corrupted),
        new("tail beyond the ring", peer => peer.SetTail(peer.Capacity + 16), Corrupted),
        new("tail below zero", peer => peer.SetTail(-16), Corrupted),
        new("tail at the largest number", peer => peer.SetTail(long.MaxValue & ~15L), Corrupted),
        new("record longer than what is there", peer =>
        {
            peer.Plant(0, Header(1000));
            peer.SetTail(16);
        }, Corrupted),
        new("record longer than allowed", peer =>
        {
            peer.Plant(0, Header(9000));
            peer.SetTail(9024);
        }, Corrupted),
        new("record of the largest length", peer =>
        {
            peer.Plant(0, Header(uint.MaxValue));
            peer.SetTail(16);
        }, Corrupted),
        new("record across the ring's end", peer =>
        {
            long position = FillUpTo(peer, peer.Capacity - 32);
            peer.Plant(position, Header(100));
            peer.SetTail(position + 128);
        }, Corrupted),
        new("padding that does not end with the ring", peer =>
        {
            peer.Plant(0, Header(0, RecordHeader.PaddingKind));
            peer.SetTail(16);
        }, Corrupted),
        new("padding of a whole ring", peer =>
        {
            peer.Plant(0, Header((uint)peer.Capacity - 16, RecordHeader.PaddingKind));
            peer.SetTail(peer.Capacity);
        }, Corrupted),
        new("kind 0, as a hole punched into the memory reads", peer => peer.SetTail(16), "unknown kind 0"),
        new("kind 22", peer => peer.Send((FrameKind)22), "unknown kind 22"),
        new("kind 253", peer => peer.Send((FrameKind)253), "unknown kind 253"),
        new("a move without a second ring", peer => peer.Send((FrameKind)254), "there is no ring to move to"),
    ];

    private static RecordHeader Header(uint length, byte kind = (byte)FrameKind.GoAway) =>
        new(length, kind, 0, 0, 0, 0);

    // Uses the one frame that both sides may send at any time and any number of times.
    private static long FillUpTo(RawPeer peer, long position)
    {
        for (long at = 0; at < position; at += RecordHeader.SizeBytes)
        {
            peer.Plant(at, Header(0));
        }

        return position;
    }
}
