using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Grpc.Health.V1;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

namespace RpcOverShm.Hosting.HealthChecks;

/// <summary>
/// The health service of a server, whose statuses are those of the host's checks. Keeps the last result of each check:
/// a report that lacks some of them changes only the services that depend on the others. Thread-safe.
/// </summary>
internal sealed class HostHealthService(
    HealthCheckService checks, IReadOnlyList<HealthMapping> mappings, CancellationToken stopping)
    : ShmHealthService(stopping)
{
    private readonly Lock _lock = new();
    private readonly Dictionary<string, HealthStatus> _results = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<HealthMapping, CheckRun> _runs = []; // those that calls wait for

    public override async Task<HealthCheckResponse> Check(HealthCheckRequest request, ServerCallContext context)
    {
        await RefreshAsync(request.Service, context.CancellationToken).ConfigureAwait(false);
        return await base.Check(request, context).ConfigureAwait(false);
    }

    public override async Task Watch(
        HealthCheckRequest request, IServerStreamWriter<HealthCheckResponse> responseStream, ServerCallContext context)
    {
        await RefreshAsync(request.Service, context.CancellationToken).ConfigureAwait(false);
        await base.Watch(request, responseStream, context).ConfigureAwait(false);
    }

    /// <summary>Takes over the results of a report, which may lack some checks.</summary>
    public void Publish(HealthReport report)
    {
        lock (_lock)
        {
            foreach ((string name, HealthReportEntry entry) in report.Entries)
            {
                _results[name] = entry.Status;
            }

            foreach (HealthMapping mapping in mappings)
            {
                if (StatusOf(mapping) is { } status)
                {
                    SetStatus(mapping.Service, status);
                }
            }
        }
    }

    // Calls that come while the checks run share that run. It ends when the last of them has gone.
    private async Task RefreshAsync(string service, CancellationToken cancellationToken)
    {
        // Of a service without a mapping, the base class says that it is unknown.
        if (mappings.FirstOrDefault(one => one.Service == service) is not { } mapping)
        {
            return;
        }

        CheckRun run = Join(mapping);
        try
        {
            await run.Published.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            if (IsLast(mapping, run))
            {
                await run.CancelAsync().ConfigureAwait(false);
            }
        }
    }

    private CheckRun Join(HealthMapping mapping)
    {
        lock (_lock)
        {
            if (!_runs.TryGetValue(mapping, out CheckRun? run) || run.Published.IsCompleted)
            {
                run = new CheckRun(ended => RunAsync(mapping, ended));
                _runs[mapping] = run;
            }

            run.Waiting++;
            return run;
        }
    }

    // A call goes. Returns true to the last one.
    private bool IsLast(HealthMapping mapping, CheckRun run)
    {
        lock (_lock)
        {
            if (--run.Waiting > 0)
            {
                return false;
            }

            if (_runs.GetValueOrDefault(mapping) == run)
            {
                _runs.Remove(mapping);
            }

            return true;
        }
    }

    private async Task RunAsync(HealthMapping mapping, CancellationToken ended) => Publish(
        await checks.CheckHealthAsync(one => mapping.Checks.Contains(one.Name), ended).ConfigureAwait(false));

    /// <summary>Returns the status of a service; null if no check of it has a result yet.</summary>
    private ServingStatus? StatusOf(HealthMapping mapping)
    {
        if (mapping.Checks.Count == 0)
        {
            // A choice that fits no check is a mistake, and nothing is known of the service.
            return mapping.IsChosen ? ServingStatus.Unknown : ServingStatus.Serving;
        }

        bool hasResult = false;
        foreach (string check in mapping.Checks)
        {
            if (_results.TryGetValue(check, out HealthStatus result))
            {
                hasResult = true;
                if (result == HealthStatus.Unhealthy)
                {
                    return ServingStatus.NotServing;
                }
            }
        }

        return hasResult ? ServingStatus.Serving : null;
    }

    /// <summary>A run of the checks of one service, on the thread pool, and the calls that wait for it.</summary>
    [SuppressMessage("Design", "CA1001", Justification = "A source without a timer holds nothing.")]
    private sealed class CheckRun
    {
        private readonly CancellationTokenSource _ended = new();

        public CheckRun(Func<CancellationToken, Task> run)
        {
            // Without the context of the call that came first: its deadline is not that of the others.
            CancellationToken ended = _ended.Token;
            using (ExecutionContext.SuppressFlow())
            {
                Published = Task.Run(() => run(ended), CancellationToken.None);
            }
        }

        /// <summary>Completes when the results are published.</summary>
        public Task Published { get; }

        /// <summary>The number of calls that wait. Guarded by the service.</summary>
        public int Waiting { get; set; }

        /// <summary>Cancels the checks that still run.</summary>
        public Task CancelAsync() => _ended.CancelAsync();
    }
}
