using System.Buffers;
using Google.Protobuf;
using Grpc.Core;
using MessagePack;
using RpcOverShm.MessagePack;
using RpcOverShm.MessagePack.Tests;
using RpcOverShm.MessagePack.Tests.Objects;
using RpcOverShm.MessagePack.Tests.Protos;

namespace RpcOverShm.Fuzz.Targets;

/// <summary>
/// A MessagePack message. The first byte of the input chooses its type, and the size of the pieces in which it comes.
/// Generated messages are read by compiled code and by descriptor; both must agree.
/// </summary>
internal sealed class MessagePackTarget : FuzzTarget
{
    private delegate void Reading(byte[] bytes, int pieceBytes);

    private static readonly Reading[] s_types =
    [
        Generated<Everything>(), Generated<Node>(), Generated<Lists>(), Generated<Maps>(), Generated<WellKnown>(),
        Generated<Choice>(), Objects<Order>(), Objects<Tree>(),
    ];

    public override IEnumerable<byte[]> Seeds =>
    [
        [0, .. Write(Samples.Everything)],
        [0x80, .. Write(new Everything { Scalars = Samples.Scalars })],
        [1, .. Write(Samples.Everything.Node)],
        [2, .. Write(Samples.Everything.Lists)],
        [3, .. Write(Samples.Everything.Maps)],
        [0x94, .. Write(Samples.Everything.WellKnown)],
        [5, .. Write(Samples.Everything.Choice)],
        [6, .. Write(Order.Sample)],
        [0x87, .. Write(new Tree { Branches = [new Tree { Fruit = "fig" }, null], Fruit = 1.5 })],
    ];

    // One byte can become an element of a list: a Node with its collections. Three readings are measured together.
    protected override int BytesForEachByte => 4 * 1024;

    protected override int BytesAtLeast => 64 << 10;

    protected override void Read(ReadOnlySpan<byte> input)
    {
        if (!input.IsEmpty)
        {
            // In one piece, or in pieces of 1 to 16 bytes.
            int pieceBytes = (input[0] & 0x80) == 0 ? int.MaxValue : 1 + ((input[0] >> 3) & 15);
            s_types[input[0] & 7](input[1..].ToArray(), pieceBytes);
        }
    }

    private static Reading Generated<T>()
        where T : class, IMessage<T>
    {
        Marshaller<T> compiled = ShmMessagePackCodec.Instance.CreateMarshaller<T>(null!)!;
        Marshaller<T> described = MessageMarshaller<T>.CreateByDescriptor();
        return (bytes, pieceBytes) =>
        {
            (T? message, string? failure) = Attempt(compiled, bytes, pieceBytes);
            (T? other, string? otherFailure) = Attempt(described, bytes, int.MaxValue);
            Require(failure == otherFailure, $"The same failure: '{failure}' and '{otherFailure}'.");
            Require(Equals(message, other), "Both ways read the same.");
            if (message is not null)
            {
                (T? again, failure) = Attempt(compiled, Write(compiled, message), int.MaxValue);
                Require(failure is null, $"What was read is written readably: {failure}.");
                Require(message.Equals(again), "Written and read again, it is the same message.");
            }
        };
    }

    private static Reading Objects<T>()
        where T : class
    {
        Marshaller<T> marshaller = ShmMessagePackCodec.Instance.CreateMarshaller<T>(null!)!;
        return (bytes, pieceBytes) =>
        {
            if (Attempt(marshaller, bytes, pieceBytes).Message is { } message)
            {
                byte[] once = Write(marshaller, message);
                (T? again, string? failure) = Attempt(marshaller, once, int.MaxValue);
                Require(failure is null, $"What was read is written readably: {failure}.");
                byte[] twice = Write(marshaller, again!);
                Require(once.AsSpan().SequenceEqual(twice), "Written again, it has the same bytes.");
            }
        };
    }

    private static (T? Message, string? Failure) Attempt<T>(Marshaller<T> marshaller, byte[] bytes, int pieceBytes)
        where T : class
    {
        try
        {
            var context = MemoryDeserializationContext.InPieces(bytes, Math.Min(pieceBytes, Math.Max(bytes.Length, 1)));
            return (marshaller.ContextualDeserializer(context), null);
        }
        catch (MessagePackSerializationException exception)
        {
            return (null, exception.Message);
        }
    }

    private static byte[] Write<T>(T message)
        where T : class => Write(ShmMessagePackCodec.Instance.CreateMarshaller<T>(null!)!, message);

    private static byte[] Write<T>(Marshaller<T> marshaller, T message)
    {
        var context = new BufferContext();
        marshaller.ContextualSerializer(message, context);
        return context.Bytes.WrittenSpan.ToArray();
    }

    private sealed class BufferContext : SerializationContext
    {
        public ArrayBufferWriter<byte> Bytes { get; } = new();

        public override void SetPayloadLength(int payloadLength)
        {
        }

        public override IBufferWriter<byte> GetBufferWriter() => Bytes;

        public override void Complete(byte[] payload) => Bytes.Write(payload);

        public override void Complete()
        {
        }
    }
}
