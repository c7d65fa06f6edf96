using System.CommandLine;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Commands;

/// <summary><c>rpcshm clean</c>: removes the files of servers that have died.</summary>
internal static class CleanCommand
{
    public static Command Create(ToolConsole console, CommonOptions common)
    {
        var command = new Command("clean", "Remove the sockets and lock files that dead servers have left.");
        common.SetAction(command, console, (parsed, _) =>
        {
            EndpointDirectory directory = common.Directory(parsed);
            IReadOnlyList<string> removed = directory.RemoveDead();
            if (common.IsJson(parsed))
            {
                console.WriteLine(JsonText.Of(new { Removed = removed }));
                return Task.FromResult(ExitCode.Ok);
            }

            foreach (string address in removed)
            {
                console.WriteLine($"removed {address}");
            }

            if (removed.Count == 0)
            {
                console.WriteNote($"No dead server has left a file in {directory.Path}.");
            }

            return Task.FromResult(ExitCode.Ok);
        });
        return command;
    }
}
