using System.Runtime.InteropServices;
using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;

namespace RpcOverShm.Explorer.Roles;

/// <summary>Writes records as a sender does, and sleeps for space as a thread or an event loop does.</summary>
internal sealed class RecordWriter
{
    private readonly RoleContext _context;
    private readonly RingWriter _ring;
    private readonly WakeMethods _wakeMethods;
    private long _batches;

    public RecordWriter(RoleContext context, RingWriter ring, WakeMethods wakeMethods = WakeMethods.Futex)
    {
        _wakeMethods = wakeMethods;
        _context = context;
        _ring = context.Track(ring);
    }

    public long Written { get; private set; }

    /// <summary>Writes the records of a batch and publishes them. Returns false if the link has ended.</summary>
    public bool WriteBatch(string batch)
    {
        foreach (char size in batch)
        {
            if (!Write(size - '0'))
            {
                return false;
            }
        }

        _context.Link.WakePeerForData(_ring.Publish());
        _batches++;
        Checkpoint();
        return true;
    }

    private bool Write(int units)
    {
        while (true)
        {
            uint localEvents = _context.Link.LocalEvents;
            if (_context.Link.IsClosed || _context.Link.IsPeerGone)
            {
                return false;
            }

            if (TryWrite(units))
            {
                Written++;
                _context.Progress = Progress;
                return true;
            }

            long? head = Park();
            PublishIfAny();
            if (head is { } seen)
            {
                _context.Link.SleepForSpace(seen, localEvents);
                _ring.UnparkForSpace();
            }

            Checkpoint();
        }
    }

    // A record without payload has no other field than its kind, so that a lie of one word makes a move of it.
    private bool TryWrite(int units)
    {
        if (!_ring.TryClaim(units * sizeof(long), isControl: false, out RingClaim claim))
        {
            return false;
        }

        MemoryMarshal.Cast<byte, long>(claim.Payload).Fill(RecordRoles.PayloadOf(Written));
        _ring.Commit(
            claim,
            new RecordHeader(
                (uint)claim.Payload.Length,
                RecordRoles.RecordKind,
                0,
                0,
                units == 0 ? 0 : (uint)Written,
                units == 0 ? 0 : ~(uint)Written));
        return true;
    }

    // FrameWriter.TryParkForSpace.
    private long? Park()
    {
        long? head = _ring.ParkForSpace(_wakeMethods);
        if (head is null)
        {
            _ring.UnparkForSpace();
        }

        return head;
    }

    private void PublishIfAny()
    {
        if (_ring.HasUnpublished)
        {
            _context.Link.WakePeerForData(_ring.Publish());
        }
    }

    private long Progress => (_context.Progress & ~0xFFFFFL) | Written | (_batches << 12);

    private void Checkpoint() => _context.Checkpoint(Progress);
}
