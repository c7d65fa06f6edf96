using Grpc.Core;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Soak;

namespace RpcOverShm.TestPeer.Soak;

/// <summary>
/// The client of a soak: workers that make one call after the other on one channel, half of them on threads that
/// block. It offers the methods of the soak for callbacks.
/// </summary>
internal sealed class SoakClient(
    string address,
    string directory,
    ulong seed,
    int instance,
    Ledger ledger,
    SoakJournal journal,
    int patience,
    ShmSchedulingMode? scheduling) : IAsyncDisposable
{
    // No server is there, or it leaves: an immediate repeat would only fill the ledger.
    private const int LeastPauseAfterOutage = 10;

    private static readonly TimeSpan s_idleBound = TimeSpan.FromSeconds(30);

    private readonly SoakCaller _caller = new(ledger, journal);
    private readonly SoakService _service = new(seed, ledger, journal);
    private readonly Random _random = new((int)SoakMessage.Mix(seed, (ulong)instance));
    private Task _workers = Task.CompletedTask;
    private volatile SoakChannel? _channel;
    private CancellationTokenSource _draining = new();
    private int _pause; // between two calls, on the average, in milliseconds
    private int _started;
    private bool _isStorm;

    public long WithoutPool => _service.WithoutPool;

    /// <summary>Starts the workers.</summary>
    /// <param name="workers">Their number.</param>
    /// <param name="pauseMilliseconds">The mean pause between two calls of a worker.</param>
    /// <param name="isStorm">Whether all calls are those of a storm of callbacks.</param>
    /// <param name="isOnPool">Whether all workers block, each in a thread of the pool.</param>
    public async Task StartAsync(int workers, int pauseMilliseconds, bool isStorm, bool isOnPool)
    {
        _channel = Open();
        _pause = pauseMilliseconds;
        _isStorm = isStorm;
        if (isOnPool)
        {
            // To connect takes a thread of the pool, and soon none is free.
            await _channel.ConnectAsync();
        }

        _draining.Dispose();
        _draining = new CancellationTokenSource();
        CancellationToken draining = _draining.Token;
        _workers = Task.WhenAll(Enumerable.Range(0, workers).Select(i =>
        {
            // A worker that starts again has a new number, so that its calls have new ids.
            int worker = _started++;
            return isOnPool ? Task.Run(() => RunOnThread(worker, draining))
                : i % 2 == 0 ? Timeouts.OnThread(() => RunOnThread(worker, draining))
                : Task.Run(() => RunAsync(worker, draining));
        }));
    }

    /// <summary>Starts no more calls; returns when all have ended.</summary>
    public async Task DrainAsync()
    {
        await _draining.CancelAsync();
        await _workers;
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
            await _service.WhenIdleAsync(s_idleBound * patience);
            _channel = null;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await CloseAsync();
        _draining.Dispose();
    }

    private SoakChannel Open() =>
        new(address, directory, journal, _random, patience, _service.Build(), scheduling);

    private void RunOnThread(int worker, CancellationToken draining)
    {
        for (uint sequence = 0; !draining.IsCancellationRequested;)
        {
            try
            {
                StatusCode status = CallAsync(worker, ref sequence, isThread: true).GetAwaiter().GetResult();
                if (PauseAfter(status) is > 0 and int pause)
                {
                    draining.WaitHandle.WaitOne(pause);
                }
            }
            catch (OutOfMemoryException)
            {
                journal.OutOfMemory();
            }
        }
    }

    private async Task RunAsync(int worker, CancellationToken draining)
    {
        for (uint sequence = 0; !draining.IsCancellationRequested;)
        {
            try
            {
                int pause = PauseAfter(await CallAsync(worker, ref sequence, isThread: false));
                if (pause > 0)
                {
                    await Task.Delay(pause, draining).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                }
            }
            catch (OutOfMemoryException)
            {
                journal.OutOfMemory();
            }
        }
    }

    private int PauseAfter(StatusCode status)
    {
        int pause = Random.Shared.Next((2 * _pause) + 1);
        return status == StatusCode.Unavailable ? Math.Max(LeastPauseAfterOutage, pause) : pause;
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
        new(seed, new SoakCallId(instance, worker, sequence, _isStorm).Packed);
}
