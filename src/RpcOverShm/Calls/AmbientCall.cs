using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The running call of a server or of a channel's callbacks, as a part of its method's ExecutionContext. A call that
/// the method makes names it as its parent. It is set only where such a call may have to wait, or may be a callback, so
/// other calls pay nothing.
/// </summary>
/// <param name="Name">The name of the call.</param>
/// <param name="Depth">How many calls of one chain of calls and callbacks came before the call.</param>
internal sealed record AmbientCall(ParentCall Name, int Depth)
{
    private static readonly AsyncLocal<AmbientCall?> s_current = new();
    private static volatile bool s_isUsed;

    /// <summary>The call whose method runs in this context; null if none is known.</summary>
    public static AmbientCall? Current => s_isUsed ? s_current.Value : null;

    /// <summary>Makes a call known to the code that this thread runs next, until its context is restored.</summary>
    public static void Set(AmbientCall call)
    {
        s_isUsed = true;
        s_current.Value = call;
    }
}
