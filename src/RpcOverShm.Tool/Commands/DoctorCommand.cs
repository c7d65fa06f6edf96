using System.CommandLine;
using RpcOverShm.Linux;
using RpcOverShm.Tool.Doctor;
using RpcOverShm.Tool.Output;
using Spectre.Console;

namespace RpcOverShm.Tool.Commands;

/// <summary><c>rpcshm doctor</c>: whether servers and clients can work here, and what to do if not.</summary>
internal static class DoctorCommand
{
    public static Command Create(ToolConsole console, CommonOptions common)
    {
        var command = new Command(
            "doctor", "Check whether servers and clients can work here. Exit code 1 if something stops them.");
        common.SetAction(command, console, async (parsed, _) =>
        {
            EndpointDirectory directory = common.Directory(parsed);
            DefaultDirectory? choice = common.HasDirectory(parsed) ? null : DefaultDirectory.Choose();
            IReadOnlyList<Finding> findings =
            [
                .. await new SystemChecks().RunAsync().ConfigureAwait(false),
                .. OperatingSystem.IsLinux() ? new DirectoryChecks(directory, choice).Run() : [],
            ];
            if (common.IsJson(parsed))
            {
                console.WriteLine(JsonText.Of(findings));
            }
            else
            {
                Write(console, findings);
            }

            return findings.Any(one => one.Severity == Severity.Problem) ? ExitCode.CallFailed : ExitCode.Ok;
        });
        return command;
    }

    private static void Write(ToolConsole console, IReadOnlyList<Finding> findings)
    {
        Table table = new Table().Border(TableBorder.None).HideHeaders().AddColumns("", "");
        table.Columns[0].NoWrap();
        foreach (Finding one in findings.OrderByDescending(one => one.Severity))
        {
            string mark = one.Severity switch
            {
                Severity.Problem => "[red]problem[/]",
                Severity.Warning => "[yellow]warning[/]",
                Severity.Note => "note",
                _ => "[green]ok[/]",
            };
            table.AddRow(mark, Markup.Escape(ToolConsole.Visible($"{one.Subject}: {one.Text}")));
            if (one.Advice is not null)
            {
                table.AddRow("", Markup.Escape(ToolConsole.Visible($"→ {one.Advice}")));
            }
        }

        console.Write(table);
    }
}
