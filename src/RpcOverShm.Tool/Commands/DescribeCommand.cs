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
                var reflection = new ReflectionClient(target.Invoker, target.NewOptions, target.Address);
                IReadOnlyList<IDescriptor> found = parsed.GetValue(s_symbol) is { } symbol
                    ? [await MethodSearch.FindSymbolAsync(reflection, symbol).ConfigureAwait(false)]
                    : await reflection.GetServicesAsync().ConfigureAwait(false);
                Write(console, found, common.IsJson(parsed));
                return ExitCode.Ok;
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
