using System.Buffers.Binary;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Rings;
using RpcOverShm.Topics;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>
/// The memory of a topic's ring as a hostile publisher writes it. The input is a sequence of steps; in each the peer
/// changes its memory, and this side then reads and skips.
/// <code>
/// u8 place of the patch, in units of 4 bytes   u8 bytes of the patch, then the patch
/// u16 tail    u8 oldest record    u8 newest record    u16 unused
/// </code>
/// </summary>
internal sealed unsafe class TopicRingTarget : FuzzTarget
{
    private const int Capacity = 1024;
    private const int StepBytes = 8;

    private static readonly long[] s_evilPositions =
    [
        -1, -16, long.MinValue, long.MinValue + 16, long.MaxValue, long.MaxValue & ~15L, Capacity + 1, Capacity + 16,
        1L << 32, (1L << 32) + 16, 1L << 62, -Capacity, int.MaxValue, uint.MaxValue, 1, 15,
    ];

    private readonly TopicSegment _own = TopicSegment.Create(Capacity, 0);
    private readonly TopicSegment _view;
    private readonly byte[] _copy = new byte[TopicLimits.MaxPayloadBytes(Capacity)];

    public TopicRingTarget()
    {
        _view = TopicSegment.Open(Reopen(_own.Handle), Capacity);
    }

    public override IEnumerable<byte[]> Seeds =>
    [
        [.. Record(0, 5, 1), 32, 0, 0, 0, 0, 0],
        [.. Record(0, 8, 1), 32, 0, 0, 0, 16, 2, .. Record(8, 4, 2), 64, 0, 0, 32, 32, 1],
        [.. Record(0, 0xFFFF_FFF0, 1), 32, 0, 0, 0, 0, 0],
        [.. Record(0, 1008, 0xFF), 0, 4, 0, 0, 0, 0],
        [.. Record(16, 8, 1), 96, 0, 64, 64, 0, 0],
        [0, 0, 0x03, 0x80, 0x83, 0x82, 0x81, 0x80],
    ];

    protected override void Read(ReadOnlySpan<byte> input)
    {
        _own.Tail = _own.OldestRecord = _own.NewestRecord = 0;
        Data.Clear();
        var reader = new TopicReader(_view, default);
        try
        {
            while (input.Length >= StepBytes)
            {
                int place = input[0] * 4;
                ReadOnlySpan<byte> patch = input.Slice(2, Math.Min(input[1], input.Length - StepBytes));
                patch[..Math.Min(patch.Length, Capacity - place)].CopyTo(Data[place..]);
                input = input[(2 + patch.Length)..];
                _own.Tail = PositionOf(BinaryPrimitives.ReadUInt16LittleEndian(input), 0x8000);
                _own.OldestRecord = PositionOf(input[2], 0x80);
                _own.NewestRecord = PositionOf(input[3], 0x80);
                input = input[6..];
                ReadAll(reader);
            }
        }
        catch (RingCorruptedException)
        {
            // The documented refusal.
        }
    }

    private Span<byte> Data => new(_own.Data, Capacity);

    // A position in bytes, or, with the highest bit, one that no honest peer has.
    private static long PositionOf(int value, int evil) =>
        (value & evil) == 0 ? value : s_evilPositions[value & (s_evilPositions.Length - 1)];

    private static byte[] Record(byte place, uint length, byte kind)
    {
        byte[] bytes = new byte[2 + RecordHeader.SizeBytes];
        bytes[0] = place;
        bytes[1] = RecordHeader.SizeBytes;
        BinaryPrimitives.WriteUInt32LittleEndian(bytes.AsSpan(2), length);
        bytes[6] = kind;
        return bytes;
    }

    private static SafeFileHandle Reopen(System.Runtime.InteropServices.SafeHandle handle) =>
        File.OpenHandle($"/proc/self/fd/{handle.DangerousGetHandle()}", share: FileShare.ReadWrite);

    private void ReadAll(TopicReader reader)
    {
        for (int records = 0; ; records++)
        {
            // Not by Require: a text for each record would count as memory of the code under test.
            if (records > Capacity / RecordHeader.SizeBytes)
            {
                throw new FuzzFindingException("A ring has no more records than headers.");
            }

            TopicState state = reader.TryRead(out TopicRecord record);
            if (state == TopicState.Empty)
            {
                return;
            }

            if (state == TopicState.Lapped)
            {
                reader.SkipToNewest();
            }
            else
            {
                reader.TryCopy(_copy.AsSpan(0, record.Length));
            }
        }
    }
}
