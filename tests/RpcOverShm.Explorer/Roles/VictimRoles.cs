using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;

namespace RpcOverShm.Explorer.Roles;

/// <summary>
/// Roles whose peer is hostile. After every call they compare the ring's private positions with the rules that all
/// checks together must keep: an unchecked value shows there, however harmless its use is.
/// </summary>
internal static class VictimRoles
{
    private const int Corrupted = -1;

    /// <summary>
    /// A reader of all that comes, until it has this many records or finds the ring corrupted. It has read some when
    /// the search begins.
    /// </summary>
    public static Action<RoleContext> Reader(int before, int records) => context =>
    {
        RingReader ring = context.Track(context.Link.Reader);
        for (int i = 0; i < before; i++)
        {
            Require(ring.TryRead(out _, out _));
            ring.Release();
        }

        ring.PublishHead();
        context.Ready();
        long read = 0;
        try
        {
            while (read < records)
            {
                long readBefore = read;
                long position = ring.Position;
                bool couldMove = CanMove(ring);
                while (read < records && ring.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload))
                {
                    CheckPosition(ring, position, couldMove);
                    Check(context, ring, header, payload);
                    read++;
                    context.Link.WakePeerForSpace(ring.Release());

                    position = ring.Position;
                    couldMove = CanMove(ring);
                    context.Checkpoint(read * 2);
                }

                CheckPosition(ring, position, couldMove);
                if (read == readBefore && Arm(context, ring))
                {
                    context.Link.SleepForData(ring.Position, 0);
                }

                ring.Disarm();
                context.Checkpoint((read * 2) + 1);
            }
        }
        catch (RingCorruptedException)
        {
            context.Result = Corrupted;
        }
    };

    /// <summary>A writer of records without payload, until all are written or it finds the ring corrupted.</summary>
    public static Action<RoleContext> Writer(int before, int records) => context =>
    {
        RingWriter ring = context.Track(context.Link.Writer);
        for (int i = 0; i < before; i++)
        {
            Require(TryWrite(ring));
        }

        ring.Publish();
        context.Ready();
        long head = 0;
        try
        {
            for (int written = 0; written < records; context.Checkpoint(written))
            {
                bool isWritten = TryWrite(ring);
                Check(ring, ref head);
                long? seen = isWritten ? null : ring.ParkForSpace(WakeMethods.Futex);
                Check(ring, ref head);
                written += isWritten ? 1 : 0;
                if (ring.HasUnpublished)
                {
                    context.Link.WakePeerForData(ring.Publish());
                }

                if (seen is { } position)
                {
                    context.Link.SleepForSpace(position, 0);
                }

                if (!isWritten)
                {
                    ring.UnparkForSpace();
                }
            }
        }
        catch (RingCorruptedException)
        {
            context.Result = Corrupted;
        }
    };

    private static bool Arm(RoleContext context, RingReader ring)
    {
        context.Link.WakePeerForSpace(ring.PublishHead());
        return ring.Arm(WakeMethods.Futex);
    }

    private static bool TryWrite(RingWriter ring)
    {
        if (!ring.TryClaim(0, isControl: true, out RingClaim claim))
        {
            return false;
        }

        ring.Commit(claim, new RecordHeader(0, RecordRoles.RecordKind, 0, 0, 0, 0));
        return true;
    }

    private static bool CanMove(RingReader ring) => RoleContext.Field(ring, "_canMove") != 0;

    // Only padding and one move may be skipped, and padding lies between a record and the end of the ring.
    private static void CheckPosition(RingReader ring, long before, bool couldMove)
    {
        long capacity = RoleContext.Field(ring, "_capacity");
        long skipped = ring.Position - before;
        Require(ring.Position <= RoleContext.Field(ring, "_tail"));
        bool hasMoved = couldMove && !CanMove(ring);
        Require(hasMoved || skipped == 0 || (skipped < capacity && (ring.Position & (capacity - 1)) == 0));
    }

    private static void Check(RoleContext context, RingReader ring, RecordHeader header, ReadOnlySpan<byte> payload)
    {
        long capacity = RoleContext.Field(ring, "_capacity");
        context.RequireInside(payload);
        long head = ring.Position;
        long tail = RoleContext.Field(ring, "_tail");
        long next = RoleContext.Field(ring, "_next");
        Require((head & 15) == 0 && (tail & 15) == 0);
        long ahead = capacity + (CanMove(ring) ? context.Peer.SecondCapacity : 0);
        Require(head < next && next <= tail && tail - head <= ahead);
        Require(payload.Length == header.PayloadLength);
        Require(payload.Length <= RingLimits.MaxPayloadBytes(capacity));
        Require(header.Kind is not (RecordHeader.PaddingKind or RecordHeader.MovedKind));
    }

    private static void Check(RingWriter ring, ref long before)
    {
        long head = RoleContext.Field(ring, "_head");
        Require(head >= before && (head & 15) == 0);
        Require(head <= RoleContext.Field(ring, "_publishedTail"));
        Require(RoleContext.Field(ring, "_tail") - head <= RoleContext.Field(ring, "_capacity"));
        before = head;
    }

    private static void Require(
        bool isTrue,
        [System.Runtime.CompilerServices.CallerArgumentExpression(nameof(isTrue))] string rule = "") =>
        RoleContext.Require(isTrue, $"A hostile value passed the checks: {rule} does not hold.");
}
