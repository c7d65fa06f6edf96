using System.CommandLine;
using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Reflection;

namespace RpcOverShm.Tool.Commands;

/// <summary><c>rpcshm services</c>: the services of a server and their methods.</summary>
internal static class ServicesCommand
{
    public static Command Create(ToolConsole console, CommonOptions common)
    {
        var command = new Command("services", "List the services of a server and their methods, by its reflection.");
        common.AddCallsTo(command);
        common.SetAction(command, console, async (parsed, cancellationToken) =>
        {
            Target target = common.Open(parsed, cancellationToken);
            await using (target.ConfigureAwait(false))
            {
                var reflection = new ReflectionClient(target.Invoker, target.NewOptions, target.Address);
                await WriteAsync(console, reflection, common.IsJson(parsed)).ConfigureAwait(false);
                return ExitCode.Ok;
            }
        });
        return command;
    }

    private static async Task WriteAsync(ToolConsole console, ReflectionClient reflection, bool isJson)
    {
        IReadOnlyList<string> names = await reflection.ListServicesAsync().ConfigureAwait(false);
        Dictionary<string, ServiceDescriptor> known =
            (await reflection.GetServicesAsync().ConfigureAwait(false)).ToDictionary(service => service.FullName);
        if (isJson)
        {
            console.WriteLine(JsonText.Of(names.Select(name => new
            {
                Name = name,
                Methods = known.GetValueOrDefault(name)?.Methods.Select(method => new
                {
                    method.Name,
                    Request = method.InputType.FullName,
                    Response = method.OutputType.FullName,
                    method.IsClientStreaming,
                    method.IsServerStreaming,
                }),
            })));
            return;
        }

        foreach (string name in names)
        {
            console.WriteLine(ToolConsole.Visible(name));
            foreach (MethodDescriptor method in known.GetValueOrDefault(name)?.Methods ?? [])
            {
                console.WriteLine($"  {ToolConsole.Visible(ProtoText.Signature(method))}");
            }
        }
    }
}
