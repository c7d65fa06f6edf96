using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Serialization;

namespace RpcOverShm.Perf.Report;

/// <summary>Writes the report for programs.</summary>
internal static class JsonReport
{
    private static readonly JsonSerializerOptions s_options = new()
    {
        PropertyNamingPolicy = JsonNamingPolicy.CamelCase,
        Converters = { new JsonStringEnumConverter() },
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
        WriteIndented = true,
    };

    public static string Write(PerfReport report) => JsonSerializer.Serialize(report, s_options) + "\n";
}
