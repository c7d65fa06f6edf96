namespace RpcOverShm.FunctionalTests.Sequences;

/// <summary>
/// One run of a sequence: takes the client's steps and records their results. A step that does not complete soon, or
/// that follows a plus, stays in flight. After the last step the call is disposed, which ends them all.
/// </summary>
internal sealed class SequenceCall : IDisposable
{
    // The time after the deadline in which the timers of both sides have usually fired.
    private static readonly TimeSpan s_afterDeadline = TimeSpan.FromMilliseconds(50);

    private readonly CallSequence _sequence;
    private readonly TimeSpan _pause;
    private readonly DateTime? _deadline;
    private readonly CancellationTokenSource _token = new();
    private readonly CancellationTokenSource _readToken = new();
    private readonly CancellationTokenSource _writeToken = new();
    private readonly List<Task<string>> _seen = [];
    private IDisposable _call = null!;
    private Func<Task<Metadata>> _headers = null!;
    private Func<Status> _status = null!;
    private Func<Metadata> _trailers = null!;
    private Task<Payload>? _response;
    private IAsyncStreamReader<Payload>? _responses;
    private IClientStreamWriter<Payload>? _requests;

    // The pause is also the longest wait for a step: no event shows that a frame has arrived or never will.
    private SequenceCall(ScriptClient client, CallSequence sequence, TimeSpan pause)
    {
        _sequence = sequence;
        _pause = pause;
        _deadline = sequence.Timeout is { } timeout ? DateTime.UtcNow.AddMilliseconds(timeout) : null;
        Start(client, new CallOptions(
            new Metadata { { SequenceMethods.StepsKey, sequence.Server } }, _deadline, _token.Token));
    }

    /// <summary>Runs the sequence; returns the result of each step except pauses, then the call's end.</summary>
    public static async Task<string[]> RunAsync(ScriptClient client, CallSequence sequence, TimeSpan pause)
    {
        using var call = new SequenceCall(client, sequence, pause);
        bool isAwaited = true;
        foreach (char step in sequence.Client)
        {
            if (step != '+')
            {
                await call.TakeAsync(step, isAwaited);
            }

            isAwaited = step != '+';
        }

        call._call.Dispose();
        await Task.WhenAll(call._seen).Bounded($"{sequence}");

        // Grpc.Core may report its status a moment later.
        string end = "";
        await Timeouts.Eventually(
            () => (end = Seen(call.DescribeStatus)).StartsWith("status", StringComparison.Ordinal));
        return [.. call._seen.Select(seen => seen.Result), end];
    }

    public void Dispose()
    {
        _call.Dispose();
        _token.Dispose();
        _readToken.Dispose();
        _writeToken.Dispose();
    }

    private void Start(ScriptClient client, CallOptions options)
    {
        switch (_sequence.Shape)
        {
            case MethodType.Unary:
                AsyncUnaryCall<Payload> unary = client.UnaryAsync(Payloads.Of("c"), options);
                (_call, _response) = (unary, unary.ResponseAsync);
                (_headers, _status, _trailers) = (() => unary.ResponseHeadersAsync, unary.GetStatus, unary.GetTrailers);
                break;
            case MethodType.ClientStreaming:
                AsyncClientStreamingCall<Payload, Payload> upload = client.ClientStream(options);
                (_call, _response, _requests) = (upload, upload.ResponseAsync, upload.RequestStream);
                (_headers, _status, _trailers) =
                    (() => upload.ResponseHeadersAsync, upload.GetStatus, upload.GetTrailers);
                break;
            case MethodType.ServerStreaming:
                AsyncServerStreamingCall<Payload> stream = client.ServerStream(Payloads.Of("c"), options);
                (_call, _responses) = (stream, stream.ResponseStream);
                (_headers, _status, _trailers) =
                    (() => stream.ResponseHeadersAsync, stream.GetStatus, stream.GetTrailers);
                break;
            default:
                AsyncDuplexStreamingCall<Payload, Payload> duplex = client.Duplex(options);
                (_call, _responses, _requests) = (duplex, duplex.ResponseStream, duplex.RequestStream);
                (_headers, _status, _trailers) =
                    (() => duplex.ResponseHeadersAsync, duplex.GetStatus, duplex.GetTrailers);
                break;
        }
    }

    private async Task TakeAsync(char step, bool isAwaited)
    {
        if (step == 'p')
        {
            await Task.Delay(_pause);
            return;
        }

        Task<string> seen = SeenAsync(() => BeginAsync(step));
        _seen.Add(seen);
        if (isAwaited)
        {
            await Task.WhenAny(seen, Task.Delay(step == 'x' ? Timeouts.Wait : _pause));
        }
    }

    private async Task<string> BeginAsync(char step)
    {
        switch (step)
        {
            case 'w': // A write, with and without a token that may fire.
            case 'v':
                return await WriteAsync(step == 'v' ? _writeToken.Token : CancellationToken.None);
            case 'W': // The token of writes fires, that of reads, that of the call.
                return Fire(_writeToken);
            case 'Q':
                return Fire(_readToken);
            case 'K':
                return Fire(_token);
            case 'c':
                await _requests!.CompleteAsync();
                return "completed";
            case 'r': // A read, with and without a token that may fire.
            case 'R':
                // The next read may have begun and replaced the message.
                return await _responses!.MoveNext(step == 'R' ? _readToken.Token : CancellationToken.None)
                    ? _responses.Current?.Text() ?? "m"
                    : "false";
            case 'a':
                return (await _response!).Text();
            case 'h':
                return $"headers {Count(await _headers(), SequenceMethods.HeaderKey)}";
            case 's':
                return DescribeStatus();
            case 't':
                return $"trailers {Count(_trailers(), SequenceMethods.TrailerKey)}";
            case 'd':
                _call.Dispose();
                return "";
            case 'x':
                await Task.Delay(Max(_deadline!.Value - DateTime.UtcNow, TimeSpan.Zero) + s_afterDeadline);
                return "";
            default:
                throw new ArgumentOutOfRangeException(nameof(step), step, "No step has this letter.");
        }
    }

    private static string Fire(CancellationTokenSource token)
    {
        token.Cancel();
        return "";
    }

    // Each library has its own exceptions for writes after the end.
    private async Task<string> WriteAsync(CancellationToken token)
    {
        try
        {
            await _requests!.WriteAsync(Payloads.Of("c"), token);
            return "written";
        }
        catch (NotSupportedException)
        {
            // Grpc.Core does not support writes with tokens.
            return await WriteAsync(CancellationToken.None);
        }
        catch (Exception exception) when (exception is RpcException or OperationCanceledException)
        {
            return "refused";
        }
    }

    private string DescribeStatus() => $"status {Describe(_status())}";

    private static TimeSpan Max(TimeSpan left, TimeSpan right) => left > right ? left : right;

    private static int Count(Metadata metadata, string key) => metadata.GetAll(key).Count();

    // Each library has its own texts for a local end.
    private static string Describe(Status status) =>
        status.Detail == SequenceMethods.Planned ? $"{status.StatusCode} {status.Detail}" : $"{status.StatusCode}";

    private static string Seen(Func<string> step)
    {
        try
        {
            return step();
        }
        catch (Exception exception)
        {
            return Describe(exception);
        }
    }

    private static async Task<string> SeenAsync(Func<Task<string>> step)
    {
        try
        {
            return await step();
        }
        catch (Exception exception)
        {
            return Describe(exception);
        }
    }

    private static string Describe(Exception exception) => exception is RpcException failure
        ? $"{Describe(failure.Status)}, {Count(failure.Trailers, SequenceMethods.TrailerKey)} trailers"
        : exception.GetType().Name;
}
