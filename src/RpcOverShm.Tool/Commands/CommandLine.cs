using System.CommandLine;
using System.CommandLine.Invocation;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Commands;

/// <summary>The tool's commands.</summary>
internal static class CommandLine
{
    /// <summary>Runs the command of a command line; returns the exit code.</summary>
    public static async Task<int> RunAsync(
        string[] arguments, ToolConsole console, CancellationToken cancellationToken = default)
    {
        // An argument that begins with '@' is what it says, and no file of arguments.
        ParseResult parsed = Create(console).Parse(
            arguments, new ParserConfiguration { ResponseFileTokenReplacer = null });
        var streams = new InvocationConfiguration
        {
            Output = console.Out,
            Error = console.Error,
            EnableDefaultExceptionHandler = false,
        };
        try
        {
            int code = await parsed.InvokeAsync(streams, cancellationToken).ConfigureAwait(false);
            return parsed.Action is ParseErrorAction ? (int)ExitCode.BadInput : code;
        }
        catch (IOException exception) when (ToolConsole.IsClosedPipe(exception))
        {
            return (int)ExitCode.OutputClosed; // nobody reads any more, which is no failure to tell
        }
    }

    private static RootCommand Create(ToolConsole console)
    {
        var common = new CommonOptions();
        var root = new RootCommand("Lists, describes, calls and watches the servers of RpcOverShm on this machine.");
        common.AddTo(root);
        root.Add(ListCommand.Create(console, common));
        root.Add(ServicesCommand.Create(console, common));
        root.Add(DescribeCommand.Create(console, common));
        root.Add(CallCommand.Create(console, common));
        root.Add(HealthCommand.Create(console, common));
        root.Add(TopCommand.Create(console, common));
        root.Add(BenchCommand.Create(console, common));
        root.Add(DoctorCommand.Create(console, common));
        root.Add(CleanCommand.Create(console, common));
        return root;
    }
}
