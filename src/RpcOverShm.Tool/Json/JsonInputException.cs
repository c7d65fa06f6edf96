using System.Text.Json;

namespace RpcOverShm.Tool.Json;

/// <summary>The failure to turn JSON into a message; the text names the place and what is allowed there.</summary>
internal sealed class JsonInputException : Exception
{
    public JsonInputException(string message, Exception? inner = null)
        : base(message, inner)
    {
    }

    public JsonInputException(FieldPath path, string problem, Exception? inner = null)
        : base($"{path}: {problem}", inner)
    {
    }

    /// <summary>Returns the failure of a place that has something else than it may have.</summary>
    public static JsonInputException Unexpected(FieldPath path, string allowed, JsonElement json) =>
        new(path, $"expected {allowed}, found {JsonWords.Found(json)}");
}
