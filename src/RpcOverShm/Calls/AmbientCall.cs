using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The running call of a server or of a channel's callbacks, as a part of its method's ExecutionContext. A call that
/// the method makes names it as its parent. It is set only where such a call may have to wait, or may be a callback, so
/// other calls pay nothing.
/// </summary>
/// <param name="name">The name of the call.</param>
/// <param name="depth">The number of calls in front of the call in its chain of calls and callbacks.</param>
/// <param name="parent">The running call of this side that is next in front of the call in its chain.</param>
internal sealed class AmbientCall(ParentCall name, int depth, AmbientCall? parent = null)
{
    private static readonly AsyncLocal<AmbientCall?> s_current = new();
    private static volatile bool s_isUsed;

    private volatile bool _hasEnded;

    /// <summary>The call whose method runs in this context; null if none is known or the method has ended.</summary>
    public static AmbientCall? Current =>
        s_isUsed && s_current.Value is { _hasEnded: false } current ? current : null;

    public ParentCall Name => name;

    public int Depth => depth;

    public AmbientCall? Parent => parent;

    /// <summary>The thing that the call lets go while its method waits for a callback; null for nothing.</summary>
    public CallHold? Hold { get; set; }

    /// <summary>Makes a call known to the code that this thread runs next, until its context is restored.</summary>
    public static void Set(AmbientCall call)
    {
        s_isUsed = true;
        s_current.Value = call;
    }

    /// <summary>Notes that the method has ended. A task that it left behind makes calls of its own.</summary>
    public void End() => _hasEnded = true;
}
