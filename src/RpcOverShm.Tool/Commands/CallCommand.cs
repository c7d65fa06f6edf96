using System.CommandLine;
using Google.Protobuf.Reflection;
using Grpc.Core;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Reflection;

namespace RpcOverShm.Tool.Commands;

/// <summary><c>rpcshm call</c>: calls a method with JSON, and writes its answer as JSON.</summary>
internal sealed class CallCommand
{
    private readonly Option<bool> _defaults = new("--emit-defaults")
    {
        Description = "Write also the fields that have their default.",
    };

    private readonly Option<bool> _verbose = new("--verbose", "-v")
    {
        Description = "Write the headers and trailers of the answer to the error stream.",
    };

    private readonly ToolConsole _console;
    private readonly CommonOptions _common;

    private CallCommand(ToolConsole console, CommonOptions common)
    {
        _console = console;
        _common = common;
    }

    public static Command Create(ToolConsole console, CommonOptions common)
    {
        var call = new CallCommand(console, common);
        var command = new Command("call", "Call a method, with JSON in and out. Streams are lines of JSON.");
        common.AddCallsTo(command);
        command.Add(common.Method);
        command.Add(common.Request);
        command.Add(call._defaults);
        command.Add(call._verbose);
        common.SetAction(command, console, call.RunAsync);
        return command;
    }

    private async Task<ExitCode> RunAsync(ParseResult parsed, CancellationToken cancellationToken)
    {
        Target target = _common.Open(parsed, cancellationToken);
        await using (target.ConfigureAwait(false))
        {
            MethodDescriptor method = await MethodSearch.FindMethodAsync(
                target.Reflection, parsed.GetValue(_common.Method)!).ConfigureAwait(false);
            using var codec = new MessageCodec(target.Reflection, parsed.GetValue(_defaults));
            var call = new MethodCall(target.Invoker, method, codec, _console)
            {
                IsJson = _common.IsJson(parsed),
                IsVerbose = parsed.GetValue(_verbose),
            };
            try
            {
                await call.RunAsync(_common.Requests(parsed, _console, method), target.NewOptions())
                    .ConfigureAwait(false);
                return ExitCode.Ok;
            }
            catch (RpcException exception)
            {
                IReadOnlyList<string> details =
                    await StatusDetails.ReadAsync(exception.Trailers, codec).ConfigureAwait(false);
                throw new CallFailedException(exception, details, parsed.GetValue(_verbose));
            }
        }
    }
}
