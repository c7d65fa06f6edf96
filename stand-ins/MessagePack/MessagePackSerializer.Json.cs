using System.Buffers;
using System.Text.Json;
using MessagePack.Json;

namespace MessagePack;

/// <content>Messages as JSON and back, for people to read.</content>
public static partial class MessagePackSerializer
{
    public static void SerializeToJson<T>(
        TextWriter textWriter,
        T obj,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        using PooledBuffer buffer = NewBuffer(options);
        Serialize(buffer, obj, options, cancellationToken);
        var reader = new MessagePackReader(buffer.Written) { CancellationToken = cancellationToken };
        ConvertToJson(ref reader, textWriter, options);
    }

    public static string SerializeToJson<T>(
        T obj, MessagePackSerializerOptions? options = null, CancellationToken cancellationToken = default)
    {
        using var text = new StringWriter();
        SerializeToJson(text, obj, options, cancellationToken);
        return text.ToString();
    }

    public static string ConvertToJson(
        ReadOnlyMemory<byte> bytes,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default) =>
        ConvertToJson(new ReadOnlySequence<byte>(bytes), options, cancellationToken);

    public static string ConvertToJson(
        in ReadOnlySequence<byte> bytes,
        MessagePackSerializerOptions? options = null,
        CancellationToken cancellationToken = default)
    {
        using var text = new StringWriter();
        var reader = new MessagePackReader(bytes) { CancellationToken = cancellationToken };
        ConvertToJson(ref reader, text, options);
        return text.ToString();
    }

    public static void ConvertToJson(
        ref MessagePackReader reader, TextWriter jsonWriter, MessagePackSerializerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(jsonWriter);
        if (!reader.End)
        {
            JsonText.Write(ref reader, jsonWriter, options ?? DefaultOptions);
        }
    }

    public static byte[] ConvertFromJson(
        string str, MessagePackSerializerOptions? options = null, CancellationToken cancellationToken = default)
    {
        using PooledBuffer buffer = NewBuffer(options);
        var writer = new MessagePackWriter(buffer) { CancellationToken = cancellationToken };
        ConvertFromJson(str, ref writer, options);
        writer.Flush();
        return buffer.Written.ToArray();
    }

    public static void ConvertFromJson(
        string str, ref MessagePackWriter writer, MessagePackSerializerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(str);
        options ??= DefaultOptions;
        try
        {
            var limits = new JsonDocumentOptions { MaxDepth = options.Security.MaximumObjectGraphDepth };
            using JsonDocument document = JsonDocument.Parse(str, limits);
            JsonTokens.Write(ref writer, document.RootElement);
        }
        // The other two are about halves of characters.
        catch (Exception e) when (e is JsonException or InvalidOperationException or ArgumentException)
        {
            throw new MessagePackSerializationException("Invalid JSON.", e);
        }
    }

    public static void ConvertFromJson(
        TextReader reader, ref MessagePackWriter writer, MessagePackSerializerOptions? options = null)
    {
        ArgumentNullException.ThrowIfNull(reader);
        ConvertFromJson(reader.ReadToEnd(), ref writer, options);
    }
}
