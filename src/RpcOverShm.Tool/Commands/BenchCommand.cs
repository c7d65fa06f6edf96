using System.CommandLine;
using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Bench;
using RpcOverShm.Tool.Json;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Reflection;

namespace RpcOverShm.Tool.Commands;

/// <summary><c>rpcshm bench</c>: calls a method again and again, and shows how long that takes.</summary>
internal sealed class BenchCommand
{
    private const int MostCallers = 10_000;
    private const int MostConnections = 1000;
    private const double MostRate = 1_000_000;

    private static readonly TimeSpan s_usualDuration = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan s_progressInterval = TimeSpan.FromMilliseconds(100);

    private readonly Option<int> _callers = new("--concurrency", "-c")
    {
        Description = "The most calls at a time, over all connections.",
        HelpName = "CALLS",
        DefaultValueFactory = _ => 8,
    };

    private readonly Option<int> _connections = new("--connections")
    {
        Description = "The connections, each of a channel of its own.",
        HelpName = "NUMBER",
        DefaultValueFactory = _ => 1,
    };

    private readonly Option<double?> _rate = new("--rps", "-r")
    {
        Description = "Calls a second, on a schedule; a latency counts from the planned time. Without it, each caller "
            + "calls again when its call has ended.",
        HelpName = "RATE",
    };

    private readonly Option<string?> _duration = new("--duration", "-z")
    {
        Description = "The longest time of the load, such as 500ms, 10s or 2m; 5s without this and --total.",
        HelpName = "TIME",
    };

    private readonly Option<long?> _total = new("--total", "-n")
    {
        Description = "The most calls.",
        HelpName = "CALLS",
    };

    private readonly Option<string> _warmUp = new("--warm-up")
    {
        Description = "The time before, whose calls are not measured; 0s for none.",
        HelpName = "TIME",
        DefaultValueFactory = _ => "1s",
    };

    private readonly Option<bool> _expectSame = new("--expect-same")
    {
        Description = "Fail if a call has another answer than the first one.",
    };

    private readonly ToolConsole _console;
    private readonly CommonOptions _common;

    private BenchCommand(ToolConsole console, CommonOptions common)
    {
        _console = console;
        _common = common;
    }

    public static Command Create(ToolConsole console, CommonOptions common)
    {
        var bench = new BenchCommand(console, common);
        var command = new Command("bench", "Call a method again and again, and show how long that takes.");
        common.AddCallsTo(command);
        command.Add(common.Method);
        command.Add(common.Request);
        command.Add(bench._callers);
        command.Add(bench._connections);
        command.Add(bench._rate);
        command.Add(bench._duration);
        command.Add(bench._total);
        command.Add(bench._warmUp);
        command.Add(bench._expectSame);
        common.SetAction(command, console, bench.RunAsync);
        return command;
    }

    private async Task<ExitCode> RunAsync(ParseResult parsed, CancellationToken cancellationToken)
    {
        BenchPlan plan = PlanOf(parsed);
        int connections = CheckedRange(parsed.GetValue(_connections), 1, Math.Min(MostConnections, plan.Callers),
            "--connections", $"to {MostConnections} and to --concurrency");
        var targets = new List<Target>();
        try
        {
            for (int i = 0; i < connections; i++)
            {
                targets.Add(_common.Open(parsed, cancellationToken));
            }

            return await RunAsync(parsed, plan, targets, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            foreach (Target target in targets)
            {
                await target.DisposeAsync().ConfigureAwait(false);
            }
        }
    }

    private async Task<ExitCode> RunAsync(
        ParseResult parsed, BenchPlan plan, List<Target> targets, CancellationToken cancellationToken)
    {
        ReflectionClient reflection = targets[0].Reflection;
        MethodDescriptor method = await MethodSearch.FindMethodAsync(reflection, parsed.GetValue(_common.Method)!)
            .ConfigureAwait(false);
        byte[][] requests = await ReadAsync(parsed, reflection, method, cancellationToken).ConfigureAwait(false);
        var run = new BenchRun(
            plan,
            [.. targets.Select(target => new RepeatedCall(target.Invoker, method, requests, target.NewOptions))]);
        BenchResult result = await ShowProgressAsync(run, cancellationToken).ConfigureAwait(false);
        var report = new BenchReport(
            targets[0].Address, MethodSearch.NameOf(method), plan, targets.Count, result);
        if (_common.IsJson(parsed))
        {
            _console.WriteLine(report.ToJson());
        }
        else
        {
            report.WriteTo(_console);
        }

        bool hasFailed = result.Failed > 0 || (result.Different > 0 && parsed.GetValue(_expectSame));
        return cancellationToken.IsCancellationRequested
            ? ExitCode.Interrupted
            : run.Lost is not null ? ExitCode.NotConnected : hasFailed ? ExitCode.CallFailed : ExitCode.Ok;
    }

    private BenchPlan PlanOf(ParseResult parsed)
    {
        TimeSpan? duration = parsed.GetValue(_duration) is { } text ? TimeText.Parse(text, "--duration") : null;
        long? total = parsed.GetValue(_total);
        if (total < 1)
        {
            throw new ToolException(ExitCode.BadInput, $"--total is 1 or more; not {total}.");
        }

        double? rate = parsed.GetValue(_rate);
        if (rate is { } given && !(given > 0 && given <= MostRate))
        {
            throw new ToolException(
                ExitCode.BadInput, FormattableString.Invariant($"--rps is above 0 and up to {MostRate}; not {rate}."));
        }

        return new BenchPlan
        {
            Callers = CheckedRange(parsed.GetValue(_callers), 1, MostCallers, "--concurrency", $"to {MostCallers}"),
            Rate = rate,
            Duration = duration ?? (total is null ? s_usualDuration : null),
            Total = total,
            WarmUp = TimeText.Parse(parsed.GetValue(_warmUp)!, "--warm-up", mayBeZero: true),
        };
    }

    private static int CheckedRange(int value, int least, int most, string option, string upTo) =>
        value >= least && value <= most
            ? value
            : throw new ToolException(ExitCode.BadInput, $"{option} is from {least} {upTo}; not {value}.");

    private async Task<byte[][]> ReadAsync(
        ParseResult parsed, ReflectionClient reflection, MethodDescriptor method, CancellationToken cancellationToken)
    {
        JsonMessages input = _common.Requests(parsed, _console, method);
        using var codec = new MessageCodec(reflection, writesDefaults: false);
        var requests = new List<byte[]>();
        while (await input.ReadAsync(cancellationToken).ConfigureAwait(false) is { } json)
        {
            requests.Add(await codec.EncodeAsync(json, method.InputType).ConfigureAwait(false));
        }

        return method.IsClientStreaming || requests.Count == 1
            ? [.. requests]
            : throw new ToolException(
                ExitCode.BadInput, $"{method.FullName} takes one message and got {requests.Count}.");
    }

    private async Task<BenchResult> ShowProgressAsync(BenchRun run, CancellationToken cancellationToken)
    {
        Task<BenchResult> running = run.RunAsync(cancellationToken);
        await _console.ShowProgressAsync(
            running, () => run.Progress, () => $"{run.Begun:#,0} calls", s_progressInterval).ConfigureAwait(false);
        return await running.ConfigureAwait(false);
    }
}
