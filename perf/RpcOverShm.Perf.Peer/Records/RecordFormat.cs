using System.Collections.Concurrent;
using RpcOverShm.MessagePack;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>A serialiser of records: its name in the arms', and how the product and a stream come by it.</summary>
/// <param name="name">In the arms'.</param>
/// <param name="getCodec">The product's; null for the marshallers that were generated.</param>
internal sealed class RecordFormat(string name, Func<ShmCodec>? getCodec)
{
    private readonly ConcurrentDictionary<Type, object> _marshallers = [];

    public static RecordFormat Protobuf { get; } = new("protobuf", getCodec: null);

    public static RecordFormat MessagePack { get; } = new("msgpack", () => ShmMessagePackCodec.Instance);

    public static IReadOnlyList<RecordFormat> All { get; } = [Protobuf, MessagePack];

    public string Name => name;

    /// <summary>A library that only its own arms load: a program that has just started does without.</summary>
    public ShmCodec? Codec => getCodec?.Invoke();

    /// <summary>The marshaller of a message, as the generated service or the codec has it.</summary>
    public Marshaller<T> MarshallerOf<T>()
        where T : class, IMessage<T>, new() =>
        (Marshaller<T>)_marshallers.GetOrAdd(
            typeof(T),
            static (_, codec) => codec?.CreateMarshaller(GeneratedMarshaller<T>.Instance)
                ?? GeneratedMarshaller<T>.Instance,
            Codec);

    // As the generated code has it, whose own are private.
    private static class GeneratedMarshaller<T>
        where T : class, IMessage<T>, new()
    {
        private static readonly MessageParser<T> s_parser = new(static () => new T());

        public static Marshaller<T> Instance { get; } = Marshallers.Create<T>(
            static (message, context) =>
            {
                context.SetPayloadLength(message.CalculateSize());
                message.WriteTo(context.GetBufferWriter());
                context.Complete();
            },
            static context => s_parser.ParseFrom(context.PayloadAsReadOnlySequence()));
    }
}
