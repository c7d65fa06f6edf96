using System.Text.Json;
using System.Text.Json.Serialization;

namespace MessagePack.Tests.Vectors;

/// <summary>A value and every form in which a message may have it, the shortest first.</summary>
public sealed record Vector(
    [property: JsonPropertyName("kind")] string Kind,
    [property: JsonPropertyName("value")] string Value,
    [property: JsonPropertyName("bytes")] string[] Forms)
{
    internal static Vector[] Suite { get; } = Load("msgpack-test-suite.json");

    internal static IEnumerable<Vector> OfKind(params string[] kinds) =>
        Suite.Where(vector => kinds.Contains(vector.Kind));

    public override string ToString() => $"{Kind} {Value}";

    private static Vector[] Load(string name)
    {
        using Stream stream = typeof(Vector).Assembly.GetManifestResourceStream(name)!;
        return JsonSerializer.Deserialize<Vector[]>(stream)!;
    }
}
