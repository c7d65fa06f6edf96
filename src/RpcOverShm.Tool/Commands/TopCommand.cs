using System.CommandLine;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;
using RpcOverShm.Tool.Output;
using RpcOverShm.Tool.Top;
using Spectre.Console.Rendering;

namespace RpcOverShm.Tool.Commands;

/// <summary><c>rpcshm top</c>: the load of a server's connections, while it works.</summary>
internal sealed class TopCommand
{
    private static readonly TimeSpan s_longestConnect = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan s_shortestInterval = TimeSpan.FromMilliseconds(500);

    private readonly Option<string> _interval = new("--interval", "-i")
    {
        Description = "The time between two looks, 500ms or more.",
        HelpName = "TIME",
        DefaultValueFactory = _ => "1s",
    };

    private readonly Option<long?> _count = new("--count", "-n")
    {
        Description = "The number of looks; without it, until Ctrl-C.",
        HelpName = "LOOKS",
    };

    private readonly ToolConsole _console;
    private readonly CommonOptions _common;

    private TopCommand(ToolConsole console, CommonOptions common)
    {
        _console = console;
        _common = common;
    }

    public static Command Create(ToolConsole console, CommonOptions common)
    {
        var top = new TopCommand(console, common);
        var command = new Command(
            "top", "Show the load of a server's connections; only for the server's own user.");
        command.Add(common.Address);
        command.Add(top._interval);
        command.Add(top._count);
        common.SetAction(command, console, top.RunAsync);
        return command;
    }

    private async Task<ExitCode> RunAsync(ParseResult parsed, CancellationToken cancellationToken)
    {
        TimeSpan interval = TimeText.Parse(parsed.GetValue(_interval)!, "--interval");
        long count = parsed.GetValue(_count) ?? long.MaxValue;
        if (interval < s_shortestInterval || count < 1)
        {
            throw new ToolException(ExitCode.BadInput, "--interval is 500ms or more, and --count is 1 or more.");
        }

        using StatisticsReader reader = await OpenAsync(parsed, cancellationToken).ConfigureAwait(false);
        var looks = new Looks(reader, parsed.GetValue(_common.Address)!, interval, cancellationToken);
        if (_console.IsLive && !_common.IsJson(parsed))
        {
            IRenderable? last = null;
            await _console.ShowLiveAsync(async () =>
                count-- > 0 && await looks.NextAsync().ConfigureAwait(false) is { } view
                    ? last = view.ToText(_console.Width)
                    : null).ConfigureAwait(false);
            if (last is not null)
            {
                _console.Write(last);
            }
        }
        else
        {
            while (count-- > 0 && await looks.NextAsync().ConfigureAwait(false) is { } view)
            {
                Write(view, _common.IsJson(parsed));
            }
        }

        if (!looks.HasEnded)
        {
            return ExitCode.Ok;
        }

        _console.WriteNote("The server has stopped, or its process has ended.");
        return ExitCode.NotConnected;
    }

    private void Write(TopView view, bool isJson)
    {
        if (isJson)
        {
            _console.WriteLine(view.ToJson());
        }
        else
        {
            _console.Write(view.ToText(_console.Width));
        }
    }

    private async Task<StatisticsReader> OpenAsync(ParseResult parsed, CancellationToken cancellationToken)
    {
        try
        {
            return await ClientHandshake.OpenStatisticsAsync(
                _common.ParseAddress(parsed), s_longestConnect, cancellationToken).ConfigureAwait(false);
        }
        catch (ConnectException exception) when (exception.Failure == ConnectFailure.PurposeMismatch)
        {
            throw new ToolException(
                ExitCode.NotOffered,
                "This server has no statistics: its library is older than this tool, or it serves byte streams and no "
                + $"calls. {exception.Message}",
                exception);
        }
        catch (ConnectException exception)
        {
            throw new ToolException(ExitCode.NotConnected, exception.Message, exception);
        }
    }

    /// <summary>One look after another at the statistics of a server.</summary>
    private sealed class Looks(
        StatisticsReader reader, string address, TimeSpan interval, CancellationToken cancellationToken)
    {
        private StatisticsPage? _before;

        /// <summary>Whether the server has gone.</summary>
        public bool HasEnded { get; private set; }

        /// <summary>Returns the load since the last look; null if the server has gone or the user has enough.</summary>
        public async Task<TopView?> NextAsync()
        {
            _before ??= Read();
            await Task.Delay(interval, cancellationToken).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            HasEnded = reader.HasEnded;
            if (HasEnded || cancellationToken.IsCancellationRequested)
            {
                return null;
            }

            StatisticsPage now = Read();
            var view = new TopView(address, reader.Server.ProcessId, now, ConnectionLoad.Between(_before, now))
            {
                IsStale = now.Time == _before.Time,
            };
            _before = now;
            return view;
        }

        private StatisticsPage Read()
        {
            try
            {
                return reader.Read();
            }
            catch (Exception exception) when (exception is ProtocolException or SegmentException)
            {
                throw new ToolException(
                    ExitCode.NotOffered, $"The statistics of {address} are unreadable: {exception.Message}", exception);
            }
        }
    }
}
