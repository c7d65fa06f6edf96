using Grpc.Core;

namespace RpcOverShm.Hosting.Calls;

/// <summary>
/// The call of a server whose method runs in this ExecutionContext. Known only where a client propagates it: other
/// servers pay nothing.
/// </summary>
internal sealed class CurrentCall(ServerCallContext context)
{
    private static readonly AsyncLocal<CurrentCall?> s_current = new();

    private volatile ServerCallContext? _context = context;

    /// <summary>The context of the running call; null outside of one, and after its method has ended.</summary>
    public static ServerCallContext? Context => s_current.Value?._context;

    /// <summary>Makes a call the current one of an asynchronous method, until that returns.</summary>
    public static CurrentCall Begin(ServerCallContext context)
    {
        var current = new CurrentCall(context);
        s_current.Value = current;
        return current;
    }

    /// <summary>Notes that the method has ended. A task that it left behind has no current call.</summary>
    public void End() => _context = null;
}
