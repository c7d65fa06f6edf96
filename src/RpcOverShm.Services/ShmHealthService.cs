using Grpc.Core;
using Grpc.Health.V1;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.Services;

/// <summary>
/// The standard health service, <c>grpc.health.v1.Health</c>: the program says how its services are, clients ask or
/// watch. Works with any gRPC server: bind it with <see cref="Health.BindService(Health.HealthBase)"/>. At first no
/// service is known; the empty name stands for the server as a whole, and has to be set as any other. Thread-safe;
/// there is nothing to dispose, and a watch ends with its call.
/// </summary>
public sealed class ShmHealthService : Health.HealthBase
{
    private const int ListedMost = 100;

    // Both tables change under one lock: whoever begins to watch sees the status of that moment, then every change
    // after it, in their order.
    private readonly Lock _gate = new();
    private readonly Dictionary<string, ServingStatus> _statuses = [];
    private readonly Dictionary<string, HashSet<HealthWatcher>> _watchers = [];

    /// <summary>Those who watch, in all. For tests.</summary>
    internal HealthWatcher[] Watchers
    {
        get
        {
            lock (_gate)
            {
                return [.. _watchers.Values.SelectMany(watchers => watchers)];
            }
        }
    }

    /// <summary>
    /// Says how a service is. Those who watch it are told if that is a change. Does not wait for them.
    /// </summary>
    /// <param name="service">The service's full name; empty for the server as a whole.</param>
    /// <param name="status">
    /// Its status. <see cref="ServingStatus.ServiceUnknown"/> is a status as any other here, and
    /// <see cref="Check"/> answers with it; <see cref="ClearStatus"/> makes a service unknown.
    /// </param>
    /// <exception cref="ArgumentNullException">The name is null.</exception>
    public void SetStatus(string service, ServingStatus status)
    {
        ArgumentNullException.ThrowIfNull(service);
        lock (_gate)
        {
            ServingStatus before = SeenBy(service);
            _statuses[service] = status;
            TellIfChanged(service, before);
        }
    }

    /// <summary>
    /// Makes a service unknown: <see cref="Check"/> of it fails, and those who watch it see
    /// <see cref="ServingStatus.ServiceUnknown"/>. A service that is unknown already stays so.
    /// </summary>
    /// <param name="service">The service's full name; empty for the server as a whole.</param>
    /// <exception cref="ArgumentNullException">The name is null.</exception>
    public void ClearStatus(string service)
    {
        ArgumentNullException.ThrowIfNull(service);
        lock (_gate)
        {
            Clear(service);
        }
    }

    /// <summary>Makes every service unknown, as <see cref="ClearStatus"/> does.</summary>
    public void ClearAll()
    {
        lock (_gate)
        {
            foreach (string service in _statuses.Keys.ToArray())
            {
                Clear(service);
            }
        }
    }

    /// <summary>Answers with the status of the service that the request names.</summary>
    /// <param name="request">Names the service.</param>
    /// <param name="context">The call. Not used.</param>
    /// <returns>
    /// The status; or, for an unknown service, a task that fails with <see cref="RpcException"/>,
    /// <see cref="StatusCode.NotFound"/> without detail.
    /// </returns>
    public override Task<HealthCheckResponse> Check(HealthCheckRequest request, ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(request);
        lock (_gate)
        {
            return _statuses.TryGetValue(request.Service, out ServingStatus status)
                ? Task.FromResult(new HealthCheckResponse { Status = status })
                : Task.FromException<HealthCheckResponse>(new RpcException(new Status(StatusCode.NotFound, "")));
        }
    }

    /// <summary>Answers with the statuses of all services that are known, of one moment.</summary>
    /// <param name="request">Says nothing.</param>
    /// <param name="context">The call. Not used.</param>
    /// <returns>
    /// The statuses; or, if more than 100 services are known, a task that fails with <see cref="RpcException"/>,
    /// <see cref="StatusCode.ResourceExhausted"/>.
    /// </returns>
    public override Task<HealthListResponse> List(HealthListRequest request, ServerCallContext context)
    {
        var response = new HealthListResponse();
        lock (_gate)
        {
            if (_statuses.Count > ListedMost)
            {
                return Task.FromException<HealthListResponse>(new RpcException(new Status(
                    StatusCode.ResourceExhausted, $"More than {ListedMost} services have a health status.")));
            }

            foreach ((string service, ServingStatus status) in _statuses)
            {
                response.Statuses.Add(service, new HealthCheckResponse { Status = status });
            }
        }

        return Task.FromResult(response);
    }

    /// <summary>
    /// Sends the status of the service that the request names, then each change of it, until the call ends: by its
    /// client, its deadline or the server. An unknown service is <see cref="ServingStatus.ServiceUnknown"/>, and may
    /// become known later. A client that reads slowly is spared statuses that were replaced meanwhile, all but the
    /// last few; it is sent the latest one, and never an older one after a newer one.
    /// </summary>
    /// <param name="request">Names the service.</param>
    /// <param name="responseStream">The client's.</param>
    /// <param name="context">The call, whose token ends the watch.</param>
    /// <returns>A task that ends, well, when the call is cancelled.</returns>
    public override async Task Watch(
        HealthCheckRequest request, IServerStreamWriter<HealthCheckResponse> responseStream, ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(request);
        ArgumentNullException.ThrowIfNull(responseStream);
        ArgumentNullException.ThrowIfNull(context);
        HealthWatcher watcher = StartWatching(request.Service);
        try
        {
            await watcher.SendAsync(responseStream, context.CancellationToken).ConfigureAwait(false);
        }
        finally
        {
            StopWatching(request.Service, watcher);
        }
    }

    private HealthWatcher StartWatching(string service)
    {
        var watcher = new HealthWatcher();
        lock (_gate)
        {
            if (!_watchers.TryGetValue(service, out HashSet<HealthWatcher>? watchers))
            {
                _watchers[service] = watchers = [];
            }

            watchers.Add(watcher);
            watcher.Note(SeenBy(service));
        }

        return watcher;
    }

    private void StopWatching(string service, HealthWatcher watcher)
    {
        lock (_gate)
        {
            // Clients choose the names: nothing of them may stay.
            HashSet<HealthWatcher> watchers = _watchers[service];
            watchers.Remove(watcher);
            if (watchers.Count == 0)
            {
                _watchers.Remove(service);
            }
        }
    }

    private void Clear(string service)
    {
        ServingStatus before = SeenBy(service);
        _statuses.Remove(service);
        TellIfChanged(service, before);
    }

    // What those who watch a service see.
    private ServingStatus SeenBy(string service) =>
        _statuses.GetValueOrDefault(service, ServingStatus.ServiceUnknown);

    private void TellIfChanged(string service, ServingStatus before)
    {
        ServingStatus now = SeenBy(service);
        if (now == before || !_watchers.TryGetValue(service, out HashSet<HealthWatcher>? watchers))
        {
            return;
        }

        foreach (HealthWatcher watcher in watchers)
        {
            watcher.Note(now);
        }
    }
}
