using System.Text.Json;

namespace MessagePack.Json;

/// <summary>Writes JSON as tokens: whole numbers as integers, all others as doubles.</summary>
internal static class JsonTokens
{
    internal static void Write(ref MessagePackWriter writer, JsonElement element)
    {
        writer.CancellationToken.ThrowIfCancellationRequested();
        switch (element.ValueKind)
        {
            case JsonValueKind.Object:
                writer.WriteMapHeader(element.GetPropertyCount());
                foreach (JsonProperty property in element.EnumerateObject())
                {
                    writer.Write(property.Name);
                    Write(ref writer, property.Value);
                }

                break;
            case JsonValueKind.Array:
                writer.WriteArrayHeader(element.GetArrayLength());
                foreach (JsonElement item in element.EnumerateArray())
                {
                    Write(ref writer, item);
                }

                break;
            case JsonValueKind.String:
                writer.Write(element.GetString());
                break;
            case JsonValueKind.Number:
                WriteNumber(ref writer, element);
                break;
            case JsonValueKind.True or JsonValueKind.False:
                writer.Write(element.GetBoolean());
                break;
            default:
                writer.WriteNil();
                break;
        }
    }

    private static void WriteNumber(ref MessagePackWriter writer, JsonElement element)
    {
        if (element.TryGetInt64(out long signed))
        {
            writer.Write(signed);
        }
        else if (element.TryGetUInt64(out ulong unsigned))
        {
            writer.Write(unsigned);
        }
        else
        {
            writer.Write(element.GetDouble());
        }
    }
}
