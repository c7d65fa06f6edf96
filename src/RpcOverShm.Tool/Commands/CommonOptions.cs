using System.CommandLine;
using System.CommandLine.Completions;
using Google.Protobuf.Reflection;
using RpcOverShm.Systems;
using RpcOverShm.Tool.Json;
using RpcOverShm.Tool.Output;

namespace RpcOverShm.Tool.Commands;

/// <summary>The options that several commands have.</summary>
internal sealed class CommonOptions
{
    private const string FromInput = "-";

    private readonly Option<string?> _directory = new("--runtime-directory")
    {
        Description = "The directory that names of servers resolve in, if the servers have set RuntimeDirectory.",
        HelpName = "DIRECTORY",
        Recursive = true,
    };

    private readonly Option<bool> _json = new("--json")
    {
        Description = "Write JSON, one value a line; failures too, to the error stream.",
        Recursive = true,
    };

    private readonly Option<string[]> _metadata = new("--metadata", "-m")
    {
        Description = "Metadata of the call; the value of a key that ends with -bin is base64. May be repeated.",
        HelpName = "KEY=VALUE",
        DefaultValueFactory = _ => [],
    };

    private readonly Option<string?> _deadline = new("--deadline", "-d")
    {
        Description = "The longest time that a call may take, such as 500ms, 5s or 2m; without a unit, in seconds.",
        HelpName = "TIME",
    };

    public CommonOptions()
    {
        Address = new Argument<string>("ADDRESS")
        {
            Description = "The server: its name, shm://name, or the absolute path of its socket.",
        };
        Address.CompletionSources.Add(Complete);
    }

    /// <summary>The server that a command calls.</summary>
    public Argument<string> Address { get; }

    /// <summary>The method that a command calls.</summary>
    public Argument<string> Method { get; } = new("METHOD")
    {
        Description = "The method: package.Service/Method, or the end of that if no other method has it.",
    };

    /// <summary>The requests of a call.</summary>
    public Argument<string?> Request { get; } = new("JSON")
    {
        Description = "The request, or several for a stream; '-' reads them from the input. {} without it.",
        Arity = ArgumentArity.ZeroOrOne,
    };

    /// <summary>Adds the options that all commands have.</summary>
    public void AddTo(RootCommand root)
    {
        root.Add(_directory);
        root.Add(_json);
    }

    /// <summary>Adds the address of a server, and the options of calls.</summary>
    public void AddCallsTo(Command command)
    {
        command.Add(Address);
        command.Add(_metadata);
        command.Add(_deadline);
    }

    /// <summary>Whether the user has asked for JSON.</summary>
    public bool IsJson(ParseResult parsed) => parsed.GetValue(_json);

    /// <summary>Whether the user has named the runtime directory.</summary>
    public bool HasDirectory(ParseResult parsed) => parsed.GetValue(_directory) is not null;

    /// <summary>Returns the servers in the runtime directory.</summary>
    public EndpointDirectory Directory(ParseResult parsed) => new(parsed.GetValue(_directory));

    /// <summary>Returns the address of the command line.</summary>
    /// <exception cref="ToolException">The address or the directory is not allowed.</exception>
    public RendezvousAddress ParseAddress(ParseResult parsed)
    {
        try
        {
            return RendezvousAddress.Parse(
                Target.FullAddress(parsed.GetValue(Address)!), parsed.GetValue(_directory));
        }
        catch (ArgumentException exception)
        {
            throw new ToolException(ExitCode.BadInput, exception.Message, exception);
        }
    }

    /// <summary>Opens a channel to the server of the command line.</summary>
    /// <exception cref="ToolException">The address or an option is not allowed.</exception>
    public Target Open(ParseResult parsed, CancellationToken cancellationToken) => Target.Open(
        parsed.GetValue(Address)!,
        parsed.GetValue(_directory),
        CallMetadata.Parse(parsed.GetValue(_metadata) ?? []),
        parsed.GetValue(_deadline) is { } deadline ? TimeText.Parse(deadline, "--deadline") : null,
        cancellationToken);

    /// <summary>Returns the requests of the command line, or of the input.</summary>
    public JsonMessages Requests(ParseResult parsed, ToolConsole console, MethodDescriptor method) =>
        parsed.GetValue(Request) switch
        {
            FromInput => new JsonMessages(console.In),
            { } json => new JsonMessages(new StringReader(json)),
            null => new JsonMessages(new StringReader(method.IsClientStreaming ? "" : "{}")),
        };

    /// <summary>
    /// Sets what a command does. Failures that are no defect of the tool are written, and give the exit code.
    /// </summary>
    public void SetAction(
        Command command, ToolConsole console, Func<ParseResult, CancellationToken, Task<ExitCode>> run) =>
        command.SetAction(async (parsed, cancellationToken) =>
        {
            try
            {
                return (int)await run(parsed, cancellationToken).ConfigureAwait(false);
            }
            catch (Exception exception)
                when (FailureReport.Of(exception, cancellationToken.IsCancellationRequested) is not null)
            {
                var report = FailureReport.Of(exception, cancellationToken.IsCancellationRequested)!;
                report.WriteTo(console, IsJson(parsed));
                return (int)report.Code;
            }
        });

    private IEnumerable<CompletionItem> Complete(CompletionContext context)
    {
        try
        {
            return
            [
                .. Directory(context.ParseResult).Read().Where(one => one.IsAlive)
                    .Select(one => new CompletionItem(one.Address)),
            ];
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or ToolException)
        {
            return [];
        }
    }
}
