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
            (IReadOnlyList<string> removed, IReadOnlyList<string> left) = directory.RemoveDead();
            if (common.IsJson(parsed))
            {
                console.WriteLine(JsonText.Of(new { Removed = removed, Left = left }));
                return Task.FromResult(ExitCode.Ok);
            }

            foreach (string address in removed)
            {
                console.WriteLine($"removed {ToolConsole.Visible(address)}");
            }

            foreach (string address in left)
            {
                console.WriteNote(
                    $"{ToolConsole.Visible(address)} stays: it is another user's, or has no lock file beside it, or is "
                    + "the socket of a path, which the next server there replaces, or this user may not write to the "
                    + "directory.");
            }

            if (removed.Count + left.Count == 0)
            {
                console.WriteNote($"No dead server has left a file in {directory.Path}.");
            }

            return Task.FromResult(ExitCode.Ok);
        });
        return command;
    }
}
