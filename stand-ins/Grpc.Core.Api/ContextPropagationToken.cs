namespace Grpc.Core;

/// <summary>Carries a server call's deadline and cancellation to a child call. Only Grpc.Core can make one.</summary>
public abstract class ContextPropagationToken
{
    internal ContextPropagationToken()
    {
    }
}
