using System.Buffers;
using Google.Protobuf;
using Grpc.Core;
using MessagePack;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>Converts messages to bytes and back, as a channel does.</summary>
internal static class Codec
{
    /// <summary>Returns the marshaller of a generated type.</summary>
    public static Marshaller<T> Marshaller<T>(Way way = Way.Compiled)
        where T : class => way == Way.Compiled
            ? ShmMessagePackCodec.Instance.CreateMarshaller<T>(null!)!
            : MessageMarshaller<T>.CreateByDescriptor();

    public static byte[] Write<T>(this Way way, T message)
        where T : class => Write(Marshaller<T>(way), message);

    public static T Read<T>(this Way way, params byte[] bytes)
        where T : class => Read(Marshaller<T>(way), bytes);

    /// <summary>Reads a message from hexadecimal digits.</summary>
    public static T ReadHex<T>(this Way way, string hex)
        where T : class => way.Read<T>(Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal)));

    /// <summary>Returns the error message for unreadable bytes.</summary>
    public static string FailureOf<T>(this Way way, string hex)
        where T : class => Assert.Throws<MessagePackSerializationException>(() => way.ReadHex<T>(hex))!.Message;

    public static byte[] Write<T>(Marshaller<T> marshaller, T message)
    {
        var context = new MemorySerializationContext();
        marshaller.ContextualSerializer(message, context);
        return context.ToArray();
    }

    public static T Read<T>(Marshaller<T> marshaller, byte[] bytes) =>
        marshaller.ContextualDeserializer(new MemoryDeserializationContext(new ReadOnlySequence<byte>(bytes)));

    /// <summary>Returns the bytes as lower-case hexadecimal digits.</summary>
    public static string Hex(byte[] bytes) => Convert.ToHexStringLower(bytes);

    /// <summary>Copies a message through the generated code for Protobuf.</summary>
    public static T ThroughProtobuf<T>(T message)
        where T : IMessage<T> => (T)message.Descriptor.Parser.ParseFrom(message.ToByteArray());
}

/// <summary>The implementation that reads and writes messages. Every rule holds for both.</summary>
public enum Way
{
    /// <summary>Code compiled for the message's type.</summary>
    Compiled,

    /// <summary>The message's descriptor, for platforms that cannot compile code at run time.</summary>
    Described,
}
