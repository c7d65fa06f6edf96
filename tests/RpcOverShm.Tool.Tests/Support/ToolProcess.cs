using RpcOverShm.Testing;

namespace RpcOverShm.Tool.Tests.Support;

/// <summary>The built program.</summary>
internal static class ToolProcess
{
    /// <summary>Returns the command that runs it from the folder of the tests.</summary>
    /// <remarks>
    /// The test peer is in that folder, too. It has the framework of ASP.NET Core, so the folder lacks assemblies that
    /// are in this framework, and the program runs with it here.
    /// </remarks>
    public static string[] CommandOf(params string[] arguments)
    {
        string[] command = PeerProcess.CommandOf(AppContext.BaseDirectory, "rpcshm", arguments);
        string configuration = Path.Combine(AppContext.BaseDirectory, "RpcOverShm.TestPeer.runtimeconfig.json");
        return [.. command[..2], "--runtimeconfig", configuration, .. command[2..]];
    }
}
