using RpcOverShm.Tool.Commands;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool;

internal static class Program
{
    public static Task<int> Main(string[] arguments) => CommandLine.RunAsync(arguments, ToolConsole.OfProcess());
}
