namespace RpcOverShm.Explorer.Shims;

/// <summary>The threads of the model run no user code on an event loop.</summary>
internal static class LoopThread
{
    public static void LeaveLoopBeforeSleep()
    {
        // No loop to leave.
    }
}
