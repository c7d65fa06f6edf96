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
                ReflectionClient reflection = target.Reflection;
                bool hasAny = await TryWriteAsync(console, reflection, common.IsJson(parsed)).ConfigureAwait(false);
                return hasAny || reflection.Problems.Count == 0 ? ExitCode.Ok : ExitCode.NotOffered;
            }
        });
        return command;
    }

    // Returns whether the server describes any of its services.
    private static async Task<bool> TryWriteAsync(ToolConsole console, ReflectionClient reflection, bool isJson)
    {
        IReadOnlyList<string> names = await reflection.ListServicesAsync().ConfigureAwait(false);
        Dictionary<string, ServiceDescriptor> known =
            (await reflection.GetServicesAsync().ConfigureAwait(false)).ToDictionary(service => service.FullName);
        if (isJson)
        {
            console.WriteLine(JsonText.Of(names.Select(name => new
            {
                Name = name,
                Problem = reflection.Problems.GetValueOrDefault(name)?.Message,
                Methods = known.GetValueOrDefault(name)?.Methods.Select(method => new
                {
                    method.Name,
                    Request = method.InputType.FullName,
                    Response = method.OutputType.FullName,
                    method.IsClientStreaming,
                    method.IsServerStreaming,
                }),
            })));
            return known.Count > 0;
        }

        foreach (string name in names)
        {
            console.WriteLine(ToolConsole.Visible(name));
            foreach (MethodDescriptor method in known.GetValueOrDefault(name)?.Methods ?? [])
            {
                console.WriteLine($"  {ToolConsole.Visible(ProtoText.Signature(method))}");
            }

            if (reflection.Problems.GetValueOrDefault(name) is { } problem)
            {
                console.WriteNote($"{name}: {problem.Message}");
            }
        }

        return known.Count > 0;
    }
}
