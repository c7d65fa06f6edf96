using System.Buffers;
using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>A Protobuf message of a peer, out of which the payload in one of its fields is taken.</summary>
internal sealed class PayloadFieldTarget : FuzzTarget
{
    private const int Number = 3;

    public override IEnumerable<byte[]> Seeds =>
    [
        [0x08, 5, 0x1A, 2, 5, 6, 0x10, 5], [0x1A, 0], [0x1A, 1, 5, 0x1A, 1, 6], [0x33, 0x1A, 1, 5, 0x34, 0x9A, 0, 1, 7],
        [0x0D, 1, 2, 3, 4, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x22, 3, 0x1A, 1, 5], [0x1A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
    ];

    protected override void Read(ReadOnlySpan<byte> input)
    {
        var message = new ReadOnlySequence<byte>(input.ToArray());
        if (!TryFind(message, out ProtobufField field))
        {
            return;
        }

        byte[] others = field.Without(message).ToArray();
        byte[] payload = field.Of(message).ToArray();
        Require(!TryFind(new ReadOnlySequence<byte>(others), out _), "A message has one payload.");
        using var sent = new PooledBufferWriter();
        sent.Write(others);
        ProtobufField.WriteHead(sent, Number, payload.Length);
        sent.Write(payload);
        var again = new ReadOnlySequence<byte>(sent.WrittenMemory);
        Require(TryFind(again, out field), "What a stub sends has a payload.");
        Require(field.Of(again).ToArray().AsSpan().SequenceEqual(payload), "It is the same payload.");
        Require(field.Without(again).ToArray().AsSpan().SequenceEqual(others), "They are the same other fields.");
    }

    private static bool TryFind(in ReadOnlySequence<byte> message, out ProtobufField field)
    {
        try
        {
            return ProtobufField.TryFind(message, Number, out field);
        }
        catch (InvalidDataException)
        {
            field = default;
            return false; // the documented refusal
        }
    }
}
