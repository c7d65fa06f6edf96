namespace Grpc.Core;

public class ContextPropagationOptions
{
    public static readonly ContextPropagationOptions Default = new();

    public ContextPropagationOptions(bool propagateDeadline = true, bool propagateCancellation = true)
    {
        IsPropagateDeadline = propagateDeadline;
        IsPropagateCancellation = propagateCancellation;
    }

    public bool IsPropagateDeadline { get; }

    public bool IsPropagateCancellation { get; }
}
