using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;

namespace RpcOverShm.Explorer.Roles;

/// <summary>
/// Reads and checks records as a blocking caller does, or an event loop: reads, spins once, arms, sleeps, disarms.
/// </summary>
internal sealed class RecordReader
{
    private readonly RoleContext _context;
    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly WakeMethods _wakeMethods;

    /// <summary>Reads on a thread that sleeps on the word, or on an event loop that sleeps on the socket.</summary>
    public RecordReader(RoleContext context, WakeMethods wakeMethods = WakeMethods.Futex)
    {
        _wakeMethods = wakeMethods;
        _context = context;
        _link = context.Link;
        _ring = context.Track(_link.Reader);
    }

    /// <summary>The number of records read.</summary>
    public long Read { get; private set; }

    public void ReadUpTo(long records)
    {
        while (Read < records && !_link.IsClosed)
        {
            uint localEvents = _link.LocalEvents;
            bool isPeerGone = _link.SealIfPeerGone();
            if (Receive(records))
            {
                continue;
            }

            if (isPeerGone)
            {
                _link.CloseAfterPeer();
                continue;
            }

            if (_ring.HasData)
            {
                continue;
            }

            if (Arm(_wakeMethods))
            {
                _link.SleepForData(_ring.Position, localEvents);
            }

            _ring.Disarm();
            Checkpoint(isAny: false);
        }
    }

    /// <summary>ConnectionReader.Arm.</summary>
    public bool Arm(WakeMethods forData)
    {
        WakeMethods forSpace = _ring.PublishHead();
        if (forSpace != WakeMethods.None)
        {
            _link.WakePeerForSpace(forSpace);
        }

        return _ring.Arm(forData);
    }

    private bool Receive(long records)
    {
        bool isAny = false;
        while (Read < records && _ring.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload))
        {
            isAny = true;
            Check(header, payload);
            Read++;
            WakeMethods forSpace = _ring.Release();
            if (forSpace != WakeMethods.None)
            {
                _link.WakePeerForSpace(forSpace);
            }

            Checkpoint(isAny: true);
        }

        return isAny;
    }

    private void Check(in RecordHeader header, ReadOnlySpan<byte> payload)
    {
        _context.RequireInside(payload);
        RoleContext.Require(
            header.Kind == RecordRoles.RecordKind
                && header.StreamId == (payload.IsEmpty ? 0 : (uint)Read)
                && header.Argument == (payload.IsEmpty ? 0 : ~(uint)Read)
                && payload.Length == header.PayloadLength,
            $"Record {Read} has kind {header.Kind}, id {header.StreamId}, {payload.Length} bytes.");
        for (int at = 0; at < payload.Length; at += sizeof(long))
        {
            long bytes = _context.ReadPayload(payload[at..]);
            RoleContext.Require(bytes == RecordRoles.PayloadOf(Read), $"Record {Read} has {bytes:X} at {at}.");
        }
    }

    // After a record the loop reads once more before it arms, which no other number here shows.
    private void Checkpoint(bool isAny) =>
        _context.Checkpoint((_context.Progress & 0xFFFFF) | (Read << 20) | (isAny ? 1L << 40 : 0));
}
