using System.Collections.Concurrent;

namespace RpcOverShm.Samples;

/// <summary>
/// Callers that call a worker without a pause, and what became of their calls. Calls and events are put in order by a
/// count, not by the time: what happens after something else has a higher number.
/// </summary>
internal sealed class Load
{
    private const int Callers = 8;

    private readonly ConcurrentQueue<EndedCall> _calls = new();
    private readonly ConcurrentQueue<(long Number, string Text)> _events = new();
    private readonly CancellationTokenSource _stop = new();
    private readonly Greeter.GreeterClient _client;
    private readonly Task[] _callers;
    private long _numbers;
    private int _succeeded;

    public Load(Greeter.GreeterClient client)
    {
        _client = client;
        _callers = [.. Enumerable.Range(0, Callers).Select(_ => Task.Run(CallAsync))];
    }

    /// <summary>The calls that have succeeded so far.</summary>
    public int Succeeded => Volatile.Read(ref _succeeded);

    /// <summary>The calls that have ended. All of them, after the stop.</summary>
    public IReadOnlyCollection<EndedCall> Calls => _calls;

    /// <summary>Waits until this number of further calls has succeeded.</summary>
    public async Task UntilAsync(int further)
    {
        int all = Succeeded + further;
        while (Succeeded < all)
        {
            await Task.Delay(TimeSpan.FromMilliseconds(1));
        }
    }

    /// <summary>Notes an event, and returns its number.</summary>
    public long Note(string text)
    {
        long number = NextNumber();
        _events.Enqueue((number, text));
        return number;
    }

    /// <summary>Says when a call began and ended, and with which status and text.</summary>
    public string Describe(EndedCall call) =>
        $"begun {After(call.Began)}, ended {After(call.Ended)}: {call.Status.StatusCode}, {call.Status.Detail}";

    public async Task StopAsync()
    {
        await _stop.CancelAsync();
        await Task.WhenAll(_callers);
    }

    private string After(long number) =>
        _events.LastOrDefault(one => one.Number < number) is { Text: not null } last
            ? $"after '{last.Text}'"
            : "before all events";

    private long NextNumber() => Interlocked.Increment(ref _numbers);

    private async Task CallAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            long began = NextNumber();
            Status status = Status.DefaultSuccess;
            try
            {
                await _client.SayHelloAsync(new HelloRequest { Name = "worker" });
                Interlocked.Increment(ref _succeeded);
            }
            catch (RpcException exception)
            {
                status = exception.Status;
            }

            var call = new EndedCall(began, NextNumber(), status);
            _calls.Enqueue(call);
            if (!call.IsOk)
            {
                await Task.Delay(TimeSpan.FromMilliseconds(5));
            }
        }
    }
}

/// <summary>A call that has ended.</summary>
/// <param name="Began">The number of its begin: less than that of what happened later.</param>
/// <param name="Ended">The number of its end: more than that of what had happened before.</param>
/// <param name="Status">The status with which it ended.</param>
internal sealed record EndedCall(long Began, long Ended, Status Status)
{
    public bool IsOk => Status.StatusCode == StatusCode.OK;
}
