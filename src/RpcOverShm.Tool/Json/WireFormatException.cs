namespace RpcOverShm.Tool.Json;

/// <summary>The failure to turn the bytes of a message into JSON; the text names the place and the reason.</summary>
internal sealed class WireFormatException : Exception
{
    public WireFormatException(FieldPath path, string problem, Exception? inner = null)
        : base($"{path}: {problem}", inner)
    {
    }
}
