using System.Buffers;
using System.Runtime.ExceptionServices;
using Grpc.Core;
using MessagePack;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>The marshaller of a type that MessagePack's resolvers support. Thread-safe.</summary>
internal sealed class ObjectMarshaller<T>(MessagePackSerializerOptions options)
    where T : class
{
    /// <summary>
    /// Creates the marshaller; returns null if the resolver of the options does not support the type.
    /// </summary>
    /// <param name="options">The options of the codec, with its <see cref="CheckedResolver"/>.</param>
    /// <exception cref="NotSupportedException">The type is, or contains, a type that the codec refuses.</exception>
    public static Marshaller<T>? TryCreate(MessagePackSerializerOptions options)
    {
        new ObjectGraph(typeof(T), options).Check();
        try
        {
            if (options.Resolver.GetFormatter<T>() is null)
            {
                return null;
            }
        }
        catch (Exception exception) when (exception is MessagePackSerializationException or TypeInitializationException)
        {
            throw ObjectGraph.Refusal(typeof(T), typeof(T), holder: null, ObjectGraph.ReasonOf(exception));
        }

        var marshaller = new ObjectMarshaller<T>(options);
        return Marshallers.Create<T>(marshaller.Serialize, marshaller.Deserialize);
    }

    private void Serialize(T message, SerializationContext context)
    {
        if (message is null)
        {
            throw new MessagePackSerializationException($"The message is null where a {typeof(T)} is to be sent.");
        }

        try
        {
            MessagePackSerializer.Serialize(context.GetBufferWriter(), message, options);
        }
        catch (MessagePackSerializationException exception)
            when (exception.GetBaseException() is MessagePackSerializationException reason)
        {
            // The outer exceptions carry no information, and the status of a call repeats the messages of all of them.
            ExceptionDispatchInfo.Throw(reason);
        }

        context.Complete();
    }

    private T Deserialize(DeserializationContext context)
    {
        ReadOnlySequence<byte> payload = context.PayloadAsReadOnlySequence();
        RequireWhole(payload);
        var reader = new MessagePackReader(payload);
        T? message = MessagePackSerializer.Deserialize<T>(ref reader, options);
        if (!reader.End)
        {
            throw new MessagePackSerializationException($"There are bytes behind the message, a {typeof(T)}.");
        }

        return message ?? throw new MessagePackSerializationException($"Nil where a {typeof(T)} is expected.");
    }

    /// <summary>Verifies that all announced elements of arrays and maps are present.</summary>
    /// <remarks>
    /// The package's formatters allocate for the announced count before they read the first element, and its reader
    /// only compares the count with the bytes that remain. Nested arrays that each announce the same bytes would
    /// multiply the allocation by their depth.
    /// </remarks>
    private static void RequireWhole(in ReadOnlySequence<byte> payload)
    {
        var reader = new MessagePackReader(payload);
        try
        {
            while (!reader.End)
            {
                reader.Skip();
            }
        }
        catch (Exception exception) when (exception is not MessagePackSerializationException)
        {
            throw new MessagePackSerializationException(
                $"A {typeof(T)} is not all there: {exception.Message}", exception);
        }
    }
}
