using System.CommandLine;
using System.Globalization;
using RpcOverShm.Tool.Output;
using Spectre.Console;

namespace RpcOverShm.Tool.Commands;

/// <summary><c>rpcshm ls</c>: the servers of the runtime directory.</summary>
internal static class ListCommand
{
    private const int WidthOfAll = 60;

    public static Command Create(ToolConsole console, CommonOptions common)
    {
        var command = new Command("ls", "List the servers of the runtime directory, and what dead ones have left.");
        common.SetAction(command, console, (parsed, _) =>
        {
            EndpointDirectory directory = common.Directory(parsed);
            IReadOnlyList<Endpoint> endpoints = directory.Read();
            if (common.IsJson(parsed))
            {
                WriteJson(console, endpoints);
            }
            else if (endpoints.Count == 0)
            {
                console.WriteNote($"No server runs in {directory.Path}, and none has left a file there.");
            }
            else
            {
                WriteTable(console, endpoints);
            }

            return Task.FromResult(ExitCode.Ok);
        });
        return command;
    }

    private static void WriteTable(ToolConsole console, IReadOnlyList<Endpoint> endpoints)
    {
        Table table = new Table().Border(TableBorder.None)
            .AddColumns("ADDRESS", "STATE", "PROCESS", "AGE", "CLIENTS");
        bool hasVersions = console.Width >= WidthOfAll;
        if (hasVersions)
        {
            table.AddColumn("VERSION");
        }

        foreach (Endpoint one in endpoints)
        {
            table.AddRow(
            [
                Markup.Escape(ToolConsole.Visible(one.Address)),
                one.IsAlive ? "[green]alive[/]" : "[red]dead[/]",
                Markup.Escape(ToolConsole.Visible(ProcessOf(one))),
                Age(one),
                one.Connections?.ToString(CultureInfo.InvariantCulture) ?? "-",
                .. hasVersions ? [Markup.Escape(ToolConsole.Visible(one.Version ?? "-"))] : (string[])[],
            ]);
        }

        console.Write(table);
        if (endpoints.Any(one => !one.IsAlive))
        {
            console.WriteNote("rpcshm clean removes what dead servers have left.");
        }
    }

    private static void WriteJson(ToolConsole console, IReadOnlyList<Endpoint> endpoints) =>
        console.WriteLine(JsonText.Of(endpoints.Select(one => new
        {
            one.Address,
            Socket = one.SocketPath,
            one.IsAlive,
            one.ProcessId,
            one.Process,
            one.Started,
            AgeSeconds = (long)Elapsed(one).TotalSeconds,
            one.Version,
            one.Connections,
        })));

    private static string ProcessOf(Endpoint one) => (one.ProcessId, one.Process) switch
    {
        (null, _) => "-",
        ({ } id, null) => $"{id}",
        ({ } id, { } name) => $"{id} {name}",
    };

    private static string Age(Endpoint one) => Elapsed(one) switch
    {
        { TotalDays: >= 1 } age => $"{(int)age.TotalDays}d {age.Hours}h",
        { TotalHours: >= 1 } age => $"{(int)age.TotalHours}h {age.Minutes}m",
        { TotalMinutes: >= 1 } age => $"{(int)age.TotalMinutes}m {age.Seconds}s",
        var age => $"{(int)age.TotalSeconds}s",
    };

    // The clock may have been set back since the start.
    private static TimeSpan Elapsed(Endpoint one) =>
        TimeSpan.FromTicks(Math.Max(0, (TimeProvider.System.GetUtcNow() - one.Started).Ticks));
}
