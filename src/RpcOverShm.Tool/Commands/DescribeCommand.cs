using System.CommandLine;
using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Reflection;

namespace RpcOverShm.Tool.Commands;

/// <summary><c>rpcshm describe</c>: what a server declares, as it would stand in a .proto file.</summary>
internal static class DescribeCommand
{
    private static readonly Argument<string?> s_symbol = new("SYMBOL")
    {
        Description = "The name of a service, method, message, enum or field, or its end; all services without it.",
        Arity = ArgumentArity.ZeroOrOne,
    };

    public static Command Create(ToolConsole console, CommonOptions common)
    {
        var command = new Command("describe", "Show services, methods and types as proto text, by reflection.");
        common.AddCallsTo(command);
        command.Add(s_symbol);
        common.SetAction(command, console, async (parsed, cancellationToken) =>
        {
            Target target = common.Open(parsed, cancellationToken);
            await using (target.ConfigureAwait(false))
            {
                ReflectionClient reflection = target.Reflection;
                IReadOnlyList<IDescriptor> found = parsed.GetValue(s_symbol) is { } symbol
                    ? [await MethodSearch.FindSymbolAsync(reflection, symbol).ConfigureAwait(false)]
                    : await reflection.GetServicesAsync().ConfigureAwait(false);
                Write(console, found, common.IsJson(parsed));
                foreach ((string name, ToolException problem) in reflection.Problems)
                {
                    console.WriteNote($"{name}: {problem.Message}");
                }

                return found.Count > 0 || reflection.Problems.Count == 0 ? ExitCode.Ok : ExitCode.NotOffered;
            }
        });
        return command;
    }

    private static void Write(ToolConsole console, IReadOnlyList<IDescriptor> found, bool isJson)
    {
        if (isJson)
        {
            console.WriteLine(JsonText.Of(found.Select(one => new
            {
                Name = one.FullName,
                Kind = KindOf(one),
                File = one.File.Name,
                Proto = ProtoText.Of(one),
            })));
            return;
        }

        console.Write(string.Join('\n', found.Select(one => ToolConsole.Visible(ProtoText.Of(one)))));
    }

    private static string KindOf(IDescriptor descriptor) => descriptor switch
    {
        ServiceDescriptor => "service",
        MethodDescriptor => "method",
        MessageDescriptor => "message",
        EnumDescriptor => "enum",
        FieldDescriptor { IsExtension: true } => "extension",
        _ => "field",
    };
}
