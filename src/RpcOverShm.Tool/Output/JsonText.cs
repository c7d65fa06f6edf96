using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace RpcOverShm.Tool.Output;

/// <summary>The JSON that <c>--json</c> gives: one line, without what is absent.</summary>
internal static class JsonText
{
    // More than any message has that is shown.
    private const int MaxDepth = 512;

    private static readonly JsonSerializerOptions s_options = new()
    {
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
        DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
        MaxDepth = MaxDepth,
        Converters = { new JsonStringEnumConverter(JsonNamingPolicy.CamelCase) },
    };

    public static JsonElement Parse(string json) => JsonSerializer.Deserialize<JsonElement>(json, s_options);

    public static string Of<T>(T value) => JsonSerializer.Serialize(value, s_options);
}
