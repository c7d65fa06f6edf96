namespace RpcOverShm.Systems;

/// <summary>A failure to create, pass, check or map a segment. The message names the step and the reason.</summary>
internal sealed class SegmentException(string message, Exception? inner = null) : Exception(message, inner)
{
    /// <summary>Whether the system lacks descriptors or memory, so that a later attempt may succeed.</summary>
    public bool IsShortage { get; init; }
}
