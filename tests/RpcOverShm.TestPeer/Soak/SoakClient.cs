using Grpc.Core;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Soak;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>
/// The client of a soak: workers that make one call after the other on one channel, half of them on threads that
/// block.
/// </summary>
internal sealed class SoakClient(
    string address, string directory, ulong seed, int instance, Ledger ledger, SoakJournal journal) : IAsyncDisposable
{
    private const int PauseMilliseconds = 10;

    private readonly SoakCaller _caller = new(address, ledger, journal);
    private readonly Random _random = new((int)SoakMessage.Mix(seed, (ulong)instance));
    private Task _workers = Task.CompletedTask;
    private volatile SoakChannel? _channel;
    private volatile bool _isDraining;
    private int _started;

    public void Start(int workers)
    {
        _channel = Open();
        _isDraining = false;
        _workers = Task.WhenAll(Enumerable.Range(0, workers).Select(i =>
        {
            // A worker that starts again has a new number, so that its calls have new ids.
            int worker = _started++;
            return i % 2 == 0
                ? Timeouts.OnThread(() => RunOnThread(worker))
                : Task.Run(() => RunAsync(worker));
        }));
    }

    /// <summary>Starts no more calls; returns when all have ended.</summary>
    public Task DrainAsync()
    {
        _isDraining = true;
        return _workers;
    }

    /// <summary>Replaces the channel, which cancels its calls.</summary>
    public async Task ReopenAsync()
    {
        SoakChannel old = _channel!;
        _channel = Open();
        await old.DisposeAsync();
    }

    public async Task CloseAsync()
    {
        if (_channel is { } channel)
        {
            await channel.DisposeAsync();
            _channel = null;
        }
    }

    public async ValueTask DisposeAsync() => await CloseAsync();

    private SoakChannel Open() => new(address, directory, journal, _random);

    private void RunOnThread(int worker)
    {
        for (uint sequence = 0; !_isDraining;)
        {
            if (CallAsync(worker, ref sequence, isThread: true).GetAwaiter().GetResult() == StatusCode.Unavailable)
            {
                Thread.Sleep(PauseMilliseconds);
            }
        }
    }

    private async Task RunAsync(int worker)
    {
        for (uint sequence = 0; !_isDraining;)
        {
            // No server is there, or it leaves: an immediate repeat would only fill the ledger.
            if (await CallAsync(worker, ref sequence, isThread: false) == StatusCode.Unavailable)
            {
                await Task.Delay(PauseMilliseconds);
            }
        }
    }

    private Task<StatusCode> CallAsync(int worker, ref uint sequence, bool isThread)
    {
        SoakChannel channel = _channel!;
        SoakPlan plan = PlanOf(worker, sequence++);
        if (plan.Shape != SoakShape.Batch)
        {
            return _caller.RunAsync(plan, channel, isThread);
        }

        var plans = new List<SoakPlan> { plan };
        while (plans.Count < plan.BatchCount)
        {
            plans.Add(PlanOf(worker, sequence++));
        }

        return _caller.RunBatchAsync(plans, channel);
    }

    private SoakPlan PlanOf(int worker, uint sequence) =>
        new(seed, new SoakCallId(instance, worker, sequence).Packed);
}
