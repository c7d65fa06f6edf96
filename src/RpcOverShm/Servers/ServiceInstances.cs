using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Servers;

/// <summary>
/// The instances of services that a server, a channel or a session keeps. Each is created once, for the first call that
/// needs it. All are released when their owner has ended and no call uses them. Thread-safe. A call whose instance
/// exists takes no lock.
/// </summary>
/// <param name="isStriped">Whether the calls of many connections use the instances.</param>
internal sealed class ServiceInstances(bool isStriped = false)
{
    private readonly UninterruptibleLock _lock = new();
    private readonly List<ServiceInstance> _created = []; // under the lock until the release
    private readonly ConcurrentDictionary<object, Task<ServiceInstance?>> _instances =
        new(concurrencyLevel: 1, capacity: 1);

    private readonly EventCount _uses = new(isStriped);
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private ILogger _logger = NullLogger.Instance; // set at the end
    private volatile bool _hasEnded;
    private int _isReleasing;

    /// <summary>The instances of an owner that never had any and has ended.</summary>
    public static ServiceInstances Ended { get; } = MakeEnded();

    /// <summary>Completes when the owner has ended and its instances were released. Does not fail.</summary>
    public Task Released => _released.Task;

    /// <summary>
    /// Counts a call that is about to use the instance of a service. Returns false if the owner has ended.
    /// </summary>
    /// <param name="service">The key of the service.</param>
    /// <param name="known">The instance; null if none was created yet: see <see cref="GetAsync"/>.</param>
    public bool TryBeginUse(object service, out ServiceInstance? known)
    {
        known = null;
        int part = _uses.Add();

        // StoreLoad: the use is counted before the end is checked. EndAsync sets the end before it checks for uses.
        if (_hasEnded)
        {
            // Another thread may have counted this use and left the release to this thread.
            _uses.TakeBack(part);
            ReleaseIfUnused();
            return false;
        }

        if (_instances.TryGetValue(service, out Task<ServiceInstance?>? made) && made.IsCompletedSuccessfully)
        {
            known = made.Result;
        }

        return true;
    }

    /// <summary>Takes a call off the count. After the end, the last call releases the instances.</summary>
    public void EndUse()
    {
        _uses.Remove();
        if (_hasEnded)
        {
            ReleaseIfUnused();
        }
    }

    /// <summary>
    /// Returns the instance of a service. The first call creates it; if that fails, the next call tries again.
    /// </summary>
    /// <param name="service">The key of the service.</param>
    /// <param name="create">Creates an instance. The task fails with its exception.</param>
    /// <param name="cancellationToken">Ends the wait for another call that creates the instance.</param>
    public async ValueTask<ServiceInstance> GetAsync(
        object service, Func<ServiceInstance> create, CancellationToken cancellationToken)
    {
        while (true)
        {
            TaskCompletionSource<ServiceInstance?> mine = new(TaskCreationOptions.RunContinuationsAsynchronously);
            Task<ServiceInstance?> first = _instances.GetOrAdd(service, mine.Task);
            if (first == mine.Task)
            {
                return Create(service, create, mine);
            }

            if (await first.WaitAsync(cancellationToken).ConfigureAwait(false) is { } instance)
            {
                return instance;
            }
        }
    }

    /// <summary>
    /// Ends the use of the instances: no more calls may use them. When the last call has returned, they are released in
    /// reverse order of their creation. Returns <see cref="Released"/>.
    /// </summary>
    public Task EndAsync(ILogger logger)
    {
        _logger = logger;
        _hasEnded = true;

        // StoreLoad: the end is stored before this thread checks for uses.
        Interlocked.MemoryBarrier();
        ReleaseIfUnused();
        return Released;
    }

    private static ServiceInstances MakeEnded()
    {
        var ended = new ServiceInstances { _hasEnded = true, _isReleasing = 1 };
        ended._released.SetResult();
        return ended;
    }

    private ServiceInstance Create(
        object service, Func<ServiceInstance> create, TaskCompletionSource<ServiceInstance?> result)
    {
        try
        {
            ServiceInstance instance = create();
            using (_lock.Enter())
            {
                _created.Add(instance);
            }

            result.SetResult(instance);
            return instance;
        }
        catch (Exception)
        {
            UninterruptibleLock.Run((_instances, service), static end => end._instances.TryRemove(end.service, out _));
            result.SetResult(null);
            throw;
        }
    }

    // After the end no use begins, so a count of 0 is final. A refused use may add 1 for a moment, and then calls this
    // method.
    private void ReleaseIfUnused()
    {
        if (_uses.Value > 0 || Interlocked.Exchange(ref _isReleasing, 1) == 1)
        {
            return;
        }

        if (_created.Count == 0)
        {
            _released.SetResult();
            return;
        }

        // On the pool: a release runs the user's code. It belongs to no call, so it has no call's context.
        PoolWork.Queue(static mine => _ = mine.ReleaseAllAsync(), this);
    }

    private async Task ReleaseAllAsync()
    {
        for (int i = _created.Count - 1; i >= 0; i--)
        {
            await _created[i].ReleaseAsync(_logger).ConfigureAwait(false);
        }

        _created.Clear();
        _instances.Clear();
        _released.SetResult();
    }
}
