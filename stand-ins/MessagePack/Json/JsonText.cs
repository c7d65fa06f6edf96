using System.Buffers;
using System.Globalization;

namespace MessagePack.Json;

/// <summary>Writes a value as JSON. What JSON does not have becomes text: bytes, times, other extensions.</summary>
internal static class JsonText
{
    internal static void Write(ref MessagePackReader reader, TextWriter json, MessagePackSerializerOptions options)
    {
        reader.CancellationToken.ThrowIfCancellationRequested();
        switch (reader.NextMessagePackType)
        {
            case MessagePackType.Integer:
                WriteInteger(ref reader, json);
                break;
            case MessagePackType.Boolean:
                json.Write(reader.ReadBoolean() ? "true" : "false");
                break;
            case MessagePackType.Float:
                json.Write(
                    reader.NextCode == MessagePackCode.Float32
                        ? reader.ReadSingle().ToString(CultureInfo.InvariantCulture)
                        : reader.ReadDouble().ToString(CultureInfo.InvariantCulture));
                break;
            case MessagePackType.String:
                WriteText(json, reader.ReadString()!);
                break;
            case MessagePackType.Binary:
                WriteText(json, Convert.ToBase64String(reader.ReadBytes()!.Value.ToArray()));
                break;
            case MessagePackType.Array or MessagePackType.Map:
                WriteNested(ref reader, json, options);
                break;
            case MessagePackType.Extension:
                WriteExtension(ref reader, json);
                break;
            default:
                reader.ReadNil();
                json.Write("null");
                break;
        }
    }

    private static void WriteInteger(ref MessagePackReader reader, TextWriter json)
    {
        if (reader.NextCode == MessagePackCode.UInt64)
        {
            json.Write(reader.ReadUInt64().ToString(CultureInfo.InvariantCulture));
        }
        else
        {
            json.Write(reader.ReadInt64().ToString(CultureInfo.InvariantCulture));
        }
    }

    private static void WriteNested(ref MessagePackReader reader, TextWriter json, MessagePackSerializerOptions options)
    {
        options.Security.DepthStep(ref reader);
        try
        {
            if (reader.NextMessagePackType == MessagePackType.Array)
            {
                WriteArray(ref reader, json, options);
            }
            else
            {
                WriteMap(ref reader, json, options);
            }
        }
        finally
        {
            reader.Depth--;
        }
    }

    private static void WriteArray(ref MessagePackReader reader, TextWriter json, MessagePackSerializerOptions options)
    {
        int count = reader.ReadArrayHeader();
        json.Write('[');
        for (int i = 0; i < count; i++)
        {
            json.Write(i == 0 ? "" : ",");
            Write(ref reader, json, options);
        }

        json.Write(']');
    }

    private static void WriteMap(ref MessagePackReader reader, TextWriter json, MessagePackSerializerOptions options)
    {
        int count = reader.ReadMapHeader();
        json.Write('{');
        for (int i = 0; i < count; i++)
        {
            // A name is text in JSON, so every other key is put between quotation marks.
            bool isText = reader.NextMessagePackType is MessagePackType.String or MessagePackType.Binary;
            json.Write(i == 0 ? "" : ",");
            json.Write(isText ? "" : "\"");
            Write(ref reader, json, options);
            json.Write(isText ? ":" : "\":");
            Write(ref reader, json, options);
        }

        json.Write('}');
    }

    private static void WriteExtension(ref MessagePackReader reader, TextWriter json)
    {
        ExtensionHeader header = reader.ReadExtensionFormatHeader();
        if (header.TypeCode == ReservedMessagePackExtensionTypeCode.DateTime)
        {
            WriteText(json, reader.ReadDateTime(header).ToString("o", CultureInfo.InvariantCulture));
            return;
        }

        json.Write('[');
        json.Write(header.TypeCode.ToString(CultureInfo.InvariantCulture));
        json.Write(',');
        WriteText(json, Convert.ToBase64String(reader.ReadRaw(header.Length).ToArray()));
        json.Write(']');
    }

    private static void WriteText(TextWriter json, string text)
    {
        json.Write('"');
        foreach (char c in text)
        {
            switch (c)
            {
                case '"' or '\\':
                    json.Write('\\');
                    json.Write(c);
                    break;
                case '\b':
                    json.Write("\\b");
                    break;
                case '\f':
                    json.Write("\\f");
                    break;
                case '\n':
                    json.Write("\\n");
                    break;
                case '\r':
                    json.Write("\\r");
                    break;
                case '\t':
                    json.Write("\\t");
                    break;
                case < ' ':
                    json.Write($"\\u{(int)c:x4}");
                    break;
                default:
                    json.Write(c);
                    break;
            }
        }

        json.Write('"');
    }
}
