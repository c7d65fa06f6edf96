using System.Buffers;

namespace MessagePack;

/// <summary>
/// Writes and reads whole values. Whatever goes wrong with a value is a
/// <see cref="MessagePackSerializationException"/> around what it was.
/// </summary>
public static partial class MessagePackSerializer
{
    /// <summary>For whoever gives no options.</summary>
    public static MessagePackSerializerOptions DefaultOptions { get; set; } = MessagePackSerializerOptions.Standard;

    public static void Serialize<T>(
        IBufferWriter<byte> writer,
        T value,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        var tokens = new MessagePackWriter(writer) { CancellationToken = cancellationToken };
        Serialize(ref tokens, value, options);
        tokens.Flush();
    }

    public static void Serialize<T>(
        ref MessagePackWriter writer, T value, MessagePackSerializerOptions? options = null)
    {
        options ??= DefaultOptions;
        bool oldSpec = writer.OldSpec;
        writer.OldSpec = options.OldSpec ?? oldSpec;
        try
        {
            options.Resolver.GetFormatterWithVerify<T>().Serialize(ref writer, value, options);
        }
        catch (Exception e)
        {
            throw new MessagePackSerializationException($"Failed to serialize {typeof(T).FullName} value.", e);
        }
        finally
        {
            writer.OldSpec = oldSpec;
        }
    }

    public static byte[] Serialize<T>(
        T value, MessagePackSerializerOptions? options = null, CancellationToken cancellationToken = default)
    {
        using PooledBuffer buffer = NewBuffer(options);
        Serialize(buffer, value, options, cancellationToken);
        return buffer.Written.ToArray();
    }

    public static void Serialize<T>(
        Stream stream,
        T value,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        cancellationToken.ThrowIfCancellationRequested();
        using PooledBuffer buffer = NewBuffer(options);
        Serialize(buffer, value, options, cancellationToken);
        try
        {
            stream.Write(buffer.Written.Span);
        }
        catch (Exception e)
        {
            throw StreamFailed("writing the serialized data to", e);
        }
    }

    public static async Task SerializeAsync<T>(
        Stream stream,
        T value,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        cancellationToken.ThrowIfCancellationRequested();
        using PooledBuffer buffer = NewBuffer(options);
        Serialize(buffer, value, options, cancellationToken);
        await WriteAsync(stream, buffer, cancellationToken).ConfigureAwait(false);
    }

    public static T Deserialize<T>(
        in ReadOnlySequence<byte> byteSequence,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        var reader = new MessagePackReader(byteSequence) { CancellationToken = cancellationToken };
        return Deserialize<T>(ref reader, options);
    }

    public static T Deserialize<T>(ref MessagePackReader reader, MessagePackSerializerOptions? options = null)
    {
        options ??= DefaultOptions;
        try
        {
            return options.Resolver.GetFormatterWithVerify<T>().Deserialize(ref reader, options);
        }
        catch (Exception e)
        {
            throw new MessagePackSerializationException($"Failed to deserialize {typeof(T).FullName} value.", e);
        }
    }

    public static T Deserialize<T>(
        ReadOnlyMemory<byte> buffer,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        var reader = new MessagePackReader(buffer) { CancellationToken = cancellationToken };
        return Deserialize<T>(ref reader, options);
    }

    public static T Deserialize<T>(
        ReadOnlyMemory<byte> buffer, out int bytesRead, CancellationToken cancellationToken = default) =>
        Deserialize<T>(buffer, options: null, out bytesRead, cancellationToken);

    public static T Deserialize<T>(
        ReadOnlyMemory<byte> buffer,
        MessagePackSerializerOptions? options,
        out int bytesRead,
        CancellationToken cancellationToken = default)
    {
        var reader = new MessagePackReader(buffer) { CancellationToken = cancellationToken };
        T value = Deserialize<T>(ref reader, options);
        bytesRead = (int)reader.Consumed;
        return value;
    }

    public static T Deserialize<T>(
        Stream stream,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        cancellationToken.ThrowIfCancellationRequested();
        using PooledBuffer buffer = NewBuffer(options);
        Fill(buffer, stream);
        return DeserializeAndRewind<T>(stream, buffer, options, cancellationToken);
    }

    public static async ValueTask<T> DeserializeAsync<T>(
        Stream stream,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(stream);
        cancellationToken.ThrowIfCancellationRequested();
        using PooledBuffer buffer = NewBuffer(options);
        await FillAsync(buffer, stream, cancellationToken).ConfigureAwait(false);
        return DeserializeAndRewind<T>(stream, buffer, options, cancellationToken);
    }

    private static T DeserializeAndRewind<T>(
        Stream stream, PooledBuffer buffer, MessagePackSerializerOptions? options, CancellationToken cancellationToken)
    {
        T value = Deserialize<T>(buffer.Written, options, out int consumed, cancellationToken);
        Rewind(stream, buffer, consumed);
        return value;
    }

    /// <summary>What was read of the stream beyond the value stays in it, where the stream can go back.</summary>
    private static void Rewind(Stream stream, PooledBuffer buffer, int consumed)
    {
        if (stream.CanSeek && consumed < buffer.Written.Length)
        {
            stream.Seek(consumed - buffer.Written.Length, SeekOrigin.Current);
        }
    }

    private static void Fill(PooledBuffer buffer, Stream stream)
    {
        try
        {
            buffer.Fill(stream);
        }
        catch (Exception e)
        {
            throw StreamFailed("reading from", e);
        }
    }

    private static async ValueTask FillAsync(PooledBuffer buffer, Stream stream, CancellationToken cancellationToken)
    {
        try
        {
            await buffer.FillAsync(stream, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OperationCanceledException)
        {
            throw StreamFailed("reading from", e);
        }
    }

    private static async Task WriteAsync(Stream stream, PooledBuffer buffer, CancellationToken cancellationToken)
    {
        try
        {
            await stream.WriteAsync(buffer.Written, cancellationToken).ConfigureAwait(false);
        }
        catch (Exception e) when (e is not OperationCanceledException)
        {
            throw StreamFailed("writing the serialized data to", e);
        }
    }

    private static PooledBuffer NewBuffer(MessagePackSerializerOptions? options) =>
        new((options ?? DefaultOptions).SequencePool.Arrays);

    private static MessagePackSerializationException StreamFailed(string doing, Exception e) =>
        new($"Error occurred while {doing} the stream.", e);
}
