using System.Buffers;

namespace MessagePack;

/// <content>Values whose type is known at run time only.</content>
public static partial class MessagePackSerializer
{
    public static void Serialize(
        Type type,
        IBufferWriter<byte> writer,
        object? obj,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        var tokens = new MessagePackWriter(writer) { CancellationToken = cancellationToken };
        Serialize(type, ref tokens, obj, options);
        tokens.Flush();
    }

    public static void Serialize(
        Type type, ref MessagePackWriter writer, object? obj, MessagePackSerializerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(type);
        AnySerializer.Of(type).Serialize(ref writer, obj, options);
    }

    public static byte[] Serialize(
        Type type,
        object? obj,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        using PooledBuffer buffer = NewBuffer(options);
        Serialize(type, buffer, obj, options, cancellationToken);
        return buffer.Written.ToArray();
    }

    public static void Serialize(
        Type type,
        Stream stream,
        object? obj,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        cancellationToken.ThrowIfCancellationRequested();
        using PooledBuffer buffer = NewBuffer(options);
        Serialize(type, buffer, obj, options, cancellationToken);
        try
        {
            stream.Write(buffer.Written.Span);
        }
        catch (Exception e)
        {
            throw StreamFailed("writing the serialized data to", e);
        }
    }

    public static async Task SerializeAsync(
        Type type,
        Stream stream,
        object? obj,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        cancellationToken.ThrowIfCancellationRequested();
        using PooledBuffer buffer = NewBuffer(options);
        Serialize(type, buffer, obj, options, cancellationToken);
        await WriteAsync(stream, buffer, cancellationToken).ConfigureAwait(false);
    }

    public static object? Deserialize(
        Type type, ref MessagePackReader reader, MessagePackSerializerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(type);
        return AnySerializer.Of(type).Deserialize(ref reader, options);
    }

    public static object? Deserialize(
        Type type,
        ReadOnlyMemory<byte> bytes,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        var reader = new MessagePackReader(bytes) { CancellationToken = cancellationToken };
        return Deserialize(type, ref reader, options);
    }

    public static object? Deserialize(
        Type type,
        ReadOnlySequence<byte> bytes,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        var reader = new MessagePackReader(bytes) { CancellationToken = cancellationToken };
        return Deserialize(type, ref reader, options);
    }

    public static object? Deserialize(
        Type type,
        Stream stream,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        cancellationToken.ThrowIfCancellationRequested();
        using PooledBuffer buffer = NewBuffer(options);
        Fill(buffer, stream);
        return DeserializeAndRewind(type, stream, buffer, options, cancellationToken);
    }

    public static async ValueTask<object?> DeserializeAsync(
        Type type,
        Stream stream,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        cancellationToken.ThrowIfCancellationRequested();
        using PooledBuffer buffer = NewBuffer(options);
        await FillAsync(buffer, stream, cancellationToken).ConfigureAwait(false);
        return DeserializeAndRewind(type, stream, buffer, options, cancellationToken);
    }

    private static object? DeserializeAndRewind(
        Type type,
        Stream stream,
        PooledBuffer buffer,
        MessagePackSerializerOptions? options,
        CancellationToken cancellationToken)
    {
        var reader = new MessagePackReader(buffer.Written) { CancellationToken = cancellationToken };
        object? value = Deserialize(type, ref reader, options);
        Rewind(stream, buffer, (int)reader.Consumed);
        return value;
    }
}
