using System.CommandLine;
using Grpc.Core;
using Grpc.Health.V1;
using RpcOverShm.Tool.Output;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.Tool.Commands;

/// <summary><c>rpcshm health</c>: asks the health service of a server.</summary>
internal static class HealthCommand
{
    private static readonly Argument<string> s_service = new("SERVICE")
    {
        Description = "The full name of a service; the whole server without it.",
        Arity = ArgumentArity.ZeroOrOne,
        DefaultValueFactory = _ => "",
    };

    public static Command Create(ToolConsole console, CommonOptions common)
    {
        var command = new Command("health", "Ask the health service of a server. Exit code 5 if it is not serving.");
        common.AddCallsTo(command);
        command.Add(s_service);
        common.SetAction(command, console, async (parsed, cancellationToken) =>
        {
            Target target = common.Open(parsed, cancellationToken);
            await using (target.ConfigureAwait(false))
            {
                string service = parsed.GetValue(s_service) ?? "";
                ServingStatus status = await CheckAsync(target, service).ConfigureAwait(false);
                console.WriteLine(common.IsJson(parsed)
                    ? JsonText.Of(new { Service = service, Status = NameOf(status) })
                    : NameOf(status));
                return status == ServingStatus.Serving ? ExitCode.Ok : ExitCode.NotServing;
            }
        });
        return command;
    }

    private static async Task<ServingStatus> CheckAsync(Target target, string service)
    {
        try
        {
            var client = new Health.HealthClient(target.Invoker);
            HealthCheckResponse answer = await client.CheckAsync(
                new HealthCheckRequest { Service = service }, target.NewOptions()).ConfigureAwait(false);
            return answer.Status;
        }
        catch (RpcException exception) when (exception.StatusCode == StatusCode.Unimplemented)
        {
            throw new ToolException(
                ExitCode.NotOffered,
                $"The server at {target.Address} has no health service. Add it to the server: AddHealth() of "
                + "RpcOverShm.Hosting, or the HealthServiceImpl of Grpc.HealthCheck among its services.",
                exception);
        }
    }

    // The names of the .proto file.
    private static string NameOf(ServingStatus status) => status switch
    {
        ServingStatus.Serving => "SERVING",
        ServingStatus.NotServing => "NOT_SERVING",
        ServingStatus.ServiceUnknown => "SERVICE_UNKNOWN",
        _ => "UNKNOWN",
    };
}
