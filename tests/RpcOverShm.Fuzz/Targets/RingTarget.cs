using System.Buffers.Binary;
using RpcOverShm.Rings;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>
/// The memory of a ring as a hostile peer writes it: any bytes, any tail, any head, any parked word. The first byte of
/// the input chooses a segment with one ring or with two. The rest is a sequence of steps; in each the peer changes its
/// memory, the same place in both rings, and this side then reads all records and writes one.
/// <code>
/// u8 place of the patch, in units of 4 bytes   u8 bytes of the patch, then the patch
/// u16 tail    u8 head    u8 parked word        positions as <see cref="PositionOf"/> reads them
/// </code>
/// </summary>
internal sealed unsafe class RingTarget : FuzzTarget
{
    private const int Capacity = 1024;
    private const int SecondCapacity = 128 << 10;
    private const int StepBytes = 6;

    private static readonly long[] s_evilPositions =
    [
        -1, -16, long.MinValue, long.MinValue + 16, long.MaxValue, long.MaxValue & ~15L, Capacity + 1, Capacity + 16,
        1L << 32, (1L << 32) + 16, 1L << 62, -Capacity, int.MaxValue, uint.MaxValue, 1, 15,
    ];

    private readonly SegmentPair[] _peers = [new(Capacity), NewWithTwoRings()];
    private readonly SegmentPair[] _owns = [new(Capacity), NewWithTwoRings()];
    private SegmentPair _peer = null!; // of this input
    private SegmentPair _own = null!;

    public override IEnumerable<byte[]> Seeds =>
    [
        [0, .. Record(0, 5, 1), 32, 0, 0, 0],
        [0, .. Record(0, 0, 1), 16, 0, 16, 1, .. Record(4, 20, 2), 64, 0, 16, 17],
        [0, .. Record(0, 112, 1), 128, 0, 0, 0, .. Record(32, 1024 - 128 - 16, RecordHeader.PaddingKind), 0, 4, 0, 0],
        [0, .. Record(0, 0xFFFF_FFF0, 1), 32, 0, 0, 0],
        [0, 0, 0, 0x03, 0x80, 0x83, 0x82],
        [
            0, 0, 0, .. Tail(960), .. Record(240, 48, RecordHeader.PaddingKind), .. Tail(1024), .. Record(0, 8, 1),
            .. Tail(1056),
        ],
        [0, 0, 0, .. Tail(960), .. Record(240, 100, 1), .. Tail(1088)],
        [0, 0, 0, .. Tail(960), .. Record(240, 113, 1), .. Tail(1104)],
        [1, .. Record(0, 0, RecordHeader.MovedKind), 0, 0, 0, 0, .. Record(4, 9, 1), 48, 0, 0, 0],
        [1, .. Record(0, 0, RecordHeader.MovedKind), 0, 0, 0, 0, .. Record(4, 0, RecordHeader.MovedKind), 32, 0, 0, 0],
        [1, .. Record(0, 16, RecordHeader.MovedKind), 32, 0, 0, 0],
        [0, .. Record(0, 0, RecordHeader.MovedKind), 16, 0, 0, 0],
    ];

    protected override void Read(ReadOnlySpan<byte> input)
    {
        int rings = input.IsEmpty ? 0 : input[0] & 1;
        input = input[Math.Min(1, input.Length)..];
        _peer = _peers[rings];
        _own = _owns[rings];
        _peer.Reset();
        _own.Reset();
        Data(0).Clear();
        Data(rings).Clear();
        var reader = new RingReader(_own.Own, _peer.View);
        var writer = new RingWriter(_own.Own, _peer.View);
        if (rings == 1)
        {
            writer.AllowMove();
        }

        try
        {
            while (input.Length >= StepBytes)
            {
                int place = input[0] * 4;
                ReadOnlySpan<byte> patch = input.Slice(2, Math.Min(input[1], input.Length - StepBytes));
                ReadOnlySpan<byte> inside = patch[..Math.Min(patch.Length, Capacity - place)];
                inside.CopyTo(Data(0)[place..]);
                inside.CopyTo(Data(rings)[place..]);
                input = input[(2 + patch.Length)..];
                _peer.Own.Tail = PositionOf(BinaryPrimitives.ReadUInt16LittleEndian(input), 0x8000);
                _peer.Own.Head = PositionOf(input[2], 0x80);
                _peer.Own.ParkedForData = PositionOf(input[3], 0x80);
                _peer.Own.ParkedForSpace = PositionOf(input[3], 0x80);
                input = input[4..];
                ReadAll(reader);
                Write(writer, patch.Length);
            }
        }
        catch (RingCorruptedException)
        {
            // The documented refusal.
        }
    }

    private static SegmentPair NewWithTwoRings()
    {
        var pair = new SegmentPair(SecondCapacity);
        Require(pair.Own.TryAllocateSecond() is null, "There is memory for the second ring.");
        return pair;
    }

    // The beginning of a ring of the peer, by its number.
    private Span<byte> Data(int ring) => new(ring == 0 ? _peer.Own.Data : _peer.Own.SecondData, Capacity);

    // A position in bytes, or, with the highest bit, one that no honest peer has.
    private static long PositionOf(int value, int evil) =>
        (value & evil) == 0 ? value : s_evilPositions[value & (s_evilPositions.Length - 1)];

    private static byte[] Tail(ushort tail) => [(byte)tail, (byte)(tail >> 8), 0, 0];

    private static byte[] Record(byte place, uint length, byte kind)
    {
        byte[] bytes = new byte[2 + RecordHeader.SizeBytes];
        bytes[0] = place;
        bytes[1] = RecordHeader.SizeBytes;
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(2), length);
        bytes[6] = kind;
        return bytes;
    }

    private long Most => _peer.View.FirstCapacity + _peer.View.SecondCapacity;

    private void ReadAll(RingReader reader)
    {
        int records = 0;
        _ = reader.IsNextOf(1);
        while (reader.TryRead(out RecordHeader header, out ReadOnlySpan<byte> payload))
        {
            RequireInside(payload);
            Require(header.PayloadLength == payload.Length && reader.Current == payload, "The record's own bytes.");
            Require(++records <= Most / RecordHeader.SizeBytes, "The rings have no more records than headers.");
            reader.Release();
        }

        reader.PublishHead();
        Require(_own.Own.Head == reader.Position, "This side publishes what it has read.");
        reader.Arm(WakeMethods.Futex);
        reader.Disarm();
    }

    private static void Write(RingWriter writer, int length)
    {
        length = Math.Min(length, writer.MaxPayloadBytes);
        if (writer.TryClaim(length, isControl: (length & 1) != 0, out RingClaim claim))
        {
            claim.Payload.Fill(0xAB);
            writer.Commit(claim, new RecordHeader((uint)length, 1, 0, 0, 0, 0));
            writer.Publish();
        }
        else
        {
            writer.ParkForSpace(WakeMethods.Futex);
            writer.UnparkForSpace();
        }
    }

    private void RequireInside(ReadOnlySpan<byte> payload)
    {
        fixed (byte* start = payload)
        {
            long offset = start - _peer.View.Data;
            long first = _peer.View.FirstCapacity;
            long end = offset < first ? first : first + _peer.View.SecondCapacity;
            if (!payload.IsEmpty && (offset < 0 || offset + payload.Length > end))
            {
                // Not by Require: a text for each record would count as memory of the code under test.
                throw new FuzzFindingException($"A payload of {payload.Length} bytes at {offset}.");
            }
        }
    }
}
