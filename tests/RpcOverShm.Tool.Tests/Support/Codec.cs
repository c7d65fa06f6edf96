using System.Text;
using System.Text.Json;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Json;

namespace RpcOverShm.Tool.Tests.Support;

/// <summary>The codec of the tool, and Google.Protobuf's own as the oracle.</summary>
internal static class Codec
{
    public static byte[] Encode(string json, MessageDescriptor generated)
    {
        using var document = JsonDocument.Parse(json, new JsonDocumentOptions { MaxDepth = 1000 });
        return new MessageEncoder(DynamicTypes.Schema.FindMessage)
            .Encode(document.RootElement, DynamicTypes.Of(generated));
    }

    public static string Decode(ByteString bytes, MessageDescriptor generated, bool writesDefaults = false)
    {
        using var buffer = new MemoryStream();
        using (var writer = new Utf8JsonWriter(buffer))
        {
            new MessageDecoder(DynamicTypes.Schema.FindMessage, writesDefaults)
                .Write(writer, bytes, DynamicTypes.Of(generated));
        }

        return Encoding.UTF8.GetString(buffer.ToArray());
    }

    /// <summary>Whether two texts are the same JSON: order of keys, spaces and escapes aside.</summary>
    public static bool AreSame(string left, string right)
    {
        var options = new JsonDocumentOptions { MaxDepth = 1000 };
        using var one = JsonDocument.Parse(left, options);
        using var other = JsonDocument.Parse(right, options);
        return JsonElement.DeepEquals(one.RootElement, other.RootElement);
    }
}
