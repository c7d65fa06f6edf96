namespace RpcOverShm.Segments;

/// <summary>A segment could not be created, passed, checked or mapped. The message says which step and why.</summary>
internal sealed class SegmentException : Exception
{
    public SegmentException(string message)
        : base(message)
    {
    }

    public SegmentException(string message, Exception inner)
        : base(message, inner)
    {
    }
}
