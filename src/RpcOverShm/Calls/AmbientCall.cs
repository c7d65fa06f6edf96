using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The running call of a server of this process, as a part of its method's ExecutionContext. A call that the method
/// makes names it as its parent. Servers set it only where a nested call may have to wait, so other calls pay nothing.
/// </summary>
internal static class AmbientCall
{
    private static readonly AsyncLocal<ParentCall?> s_current = new();
    private static volatile bool s_isUsed;

    /// <summary>The call whose method runs in this context; null if none is known.</summary>
    public static ParentCall? Current => s_isUsed ? s_current.Value : null;

    /// <summary>Makes a call known to the code that this thread runs next, until its context is restored.</summary>
    public static void Set(ParentCall call)
    {
        s_isUsed = true;
        s_current.Value = call;
    }
}
