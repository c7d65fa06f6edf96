using Microsoft.Extensions.Logging;

namespace RpcOverShm.Servers;

/// <summary>
/// The instances of services that a server, a channel or a session keeps. Each is created once, for the first call that
/// needs it. All are released when their owner has ended and no call uses them. Thread-safe.
/// </summary>
internal sealed class ServiceInstances
{
    private readonly Lock _lock = new();
    private readonly List<ServiceInstance> _created = [];
    private readonly Dictionary<object, Task<ServiceInstance?>> _instances = [];
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _hasEnded;
    private bool _isReleasing;
    private int _uses;

    /// <summary>The instances of an owner that never had any and has ended.</summary>
    public static ServiceInstances Ended { get; } = MakeEnded();

    /// <summary>Completes when the owner has ended and its instances were released. Does not fail.</summary>
    public Task Released => _released.Task;

    /// <summary>
    /// Counts a call that is about to use the instance of a service. Returns false if the owner has ended.
    /// </summary>
    /// <param name="service">What stands for the service.</param>
    /// <param name="known">The instance; null if none was created yet: see <see cref="GetAsync"/>.</param>
    public bool TryBeginUse(object service, out ServiceInstance? known)
    {
        lock (_lock)
        {
            known = _instances.TryGetValue(service, out Task<ServiceInstance?>? made) && made.IsCompletedSuccessfully
                ? made.Result
                : null;
            _uses += _hasEnded ? 0 : 1;
            return !_hasEnded;
        }
    }

    /// <summary>Uncounts a call. The last one after the end has the instances released.</summary>
    public void EndUse(ILogger logger)
    {
        lock (_lock)
        {
            _uses--;
            if (!_hasEnded)
            {
                return;
            }
        }

        ReleaseIfUnused(logger);
    }

    /// <summary>Returns the instance of a service. The first call creates it, or else the next one.</summary>
    /// <param name="service">What stands for the service.</param>
    /// <param name="create">Creates an instance. What it throws, the task reports.</param>
    /// <param name="cancellationToken">Ends the wait for another call that creates the instance.</param>
    public async ValueTask<ServiceInstance> GetAsync(
        object service, Func<ServiceInstance> create, CancellationToken cancellationToken)
    {
        while (true)
        {
            TaskCompletionSource<ServiceInstance?> mine = new(TaskCreationOptions.RunContinuationsAsynchronously);
            Task<ServiceInstance?>? others;
            lock (_lock)
            {
                if (!_instances.TryGetValue(service, out others))
                {
                    _instances.Add(service, mine.Task);
                }
            }

            if (others is null)
            {
                return Create(service, create, mine);
            }

            if (await others.WaitAsync(cancellationToken).ConfigureAwait(false) is { } instance)
            {
                return instance;
            }
        }
    }

    /// <summary>
    /// Ends the use of the instances: no more calls begin. When the last one has returned, the instances are released,
    /// the last one that was created first. Returns <see cref="Released"/>.
    /// </summary>
    public Task EndAsync(ILogger logger)
    {
        lock (_lock)
        {
            _hasEnded = true;
        }

        ReleaseIfUnused(logger);
        return Released;
    }

    private static ServiceInstances MakeEnded()
    {
        var ended = new ServiceInstances { _hasEnded = true, _isReleasing = true };
        ended._released.SetResult();
        return ended;
    }

    private ServiceInstance Create(
        object service, Func<ServiceInstance> create, TaskCompletionSource<ServiceInstance?> result)
    {
        try
        {
            ServiceInstance instance = create();
            lock (_lock)
            {
                _created.Add(instance);
            }

            result.SetResult(instance);
            return instance;
        }
        catch (Exception)
        {
            lock (_lock)
            {
                _instances.Remove(service);
            }

            result.SetResult(null);
            throw;
        }
    }

    private void ReleaseIfUnused(ILogger logger)
    {
        lock (_lock)
        {
            if (!_hasEnded || _uses > 0 || _isReleasing)
            {
                return;
            }

            _isReleasing = true;
        }

        if (_created.Count == 0)
        {
            _released.SetResult();
            return;
        }

        // On the pool: a release runs the user's code.
        _ = Task.Run(() => ReleaseAllAsync(logger));
    }

    private async Task ReleaseAllAsync(ILogger logger)
    {
        for (int i = _created.Count - 1; i >= 0; i--)
        {
            await _created[i].ReleaseAsync(logger).ConfigureAwait(false);
        }

        _created.Clear();
        _instances.Clear();
        _released.SetResult();
    }
}
