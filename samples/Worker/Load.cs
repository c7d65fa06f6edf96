using System.Collections.Concurrent;

namespace RpcOverShm.Samples;

/// <summary>Callers that call a worker without a pause, and what became of their calls.</summary>
internal sealed class Load
{
    private const int Callers = 8;

    private readonly ConcurrentDictionary<StatusCode, int> _ends = new();
    private readonly CancellationTokenSource _stop = new();
    private readonly Greeter.GreeterClient _client;
    private readonly Task[] _callers;

    public Load(Greeter.GreeterClient client)
    {
        _client = client;
        _callers = [.. Enumerable.Range(0, Callers).Select(_ => Task.Run(CallAsync))];
    }

    /// <summary>The calls that have succeeded so far.</summary>
    public int Succeeded => _ends.GetValueOrDefault(StatusCode.OK);

    /// <summary>The number of calls by the status with which they ended.</summary>
    public IReadOnlyDictionary<StatusCode, int> Ends => _ends;

    /// <summary>Waits until this number of further calls has succeeded.</summary>
    public async Task UntilAsync(int further)
    {
        int all = Succeeded + further;
        while (Succeeded < all)
        {
            await Task.Delay(TimeSpan.FromMilliseconds(1));
        }
    }

    public async Task StopAsync()
    {
        await _stop.CancelAsync();
        await Task.WhenAll(_callers);
    }

    private async Task CallAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            StatusCode end = StatusCode.OK;
            try
            {
                await _client.SayHelloAsync(new HelloRequest { Name = "worker" });
            }
            catch (RpcException exception)
            {
                end = exception.StatusCode;
                await Task.Delay(TimeSpan.FromMilliseconds(5));
            }

            _ends.AddOrUpdate(end, 1, static (_, count) => count + 1);
        }
    }
}
