using System.Diagnostics.CodeAnalysis;
using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>A one-way call that has failed or was refused. Its client gets no answer, so only this side can tell.</summary>
/// <param name="Method">The full name of the method, with the leading slash, as the client named it.</param>
/// <param name="Status">The status that the client of another call would have got.</param>
/// <param name="Exception">The exception of the method; null if the method threw none.</param>
/// <param name="Owner">The connection of the client.</param>
internal sealed record OneWayFailure(string Method, Status Status, Exception? Exception, ServerConnection Owner)
{
    // Of the names in log entries, which a client chooses.
    private const int LongestName = 200;

    /// <summary>
    /// Counts and logs a failure, and has the handlers of the user run on the thread pool. The call holds its credit
    /// until they have returned, so no client causes more of them than may be pending.
    /// </summary>
    public static void Report(ServerCall call, OneWayCharge charge, in Status status, Exception? exception)
    {
        OneWayFailures.Count(status.StatusCode.ToString());
        var failure = new OneWayFailure(call.MethodName, status, exception, call.Owner);
        ServerSettings settings = call.Settings;
        if (exception is null)
        {
            // An exception has an entry of its own.
            DeferredLog.Write(settings.Logger, failure.Log);
        }

        if (settings.OneWayFailed is { HasHandlers: true } observer)
        {
            observer.Add(failure, charge);
        }
    }

    private void Log(ILogger logger) =>
        ShmLog.OneWayCallFailed(logger, PeerText.Escape(Method, LongestName), Owner.PeerName, Status.StatusCode, Status.Detail);
}

/// <summary>
/// Hands the failures of one-way calls to the user on the thread pool, one after the other: slow handlers occupy one
/// thread of the pool. What waits is bounded by the credit of the calls. Thread-safe.
/// </summary>
internal abstract class OneWayObserver
{
    private readonly Lock _gate = new();
    private readonly Queue<(OneWayFailure Failure, OneWayCharge Charge)> _pending = new();
    private bool _isRunning;

    public abstract bool HasHandlers { get; }

    /// <summary>Queues a failure. The call holds its credit until its handlers have returned.</summary>
    public void Add(OneWayFailure failure, OneWayCharge charge)
    {
        charge.Hold();
        lock (_gate)
        {
            _pending.Enqueue((failure, charge));
            if (_isRunning)
            {
                return;
            }

            _isRunning = true;
        }

        ThreadPool.UnsafeQueueUserWorkItem(static observer => observer.RunAll(), this, preferLocal: false);
    }

    /// <summary>Runs the handlers. Does not throw.</summary>
    protected abstract void OnFailed(OneWayFailure failure);

    private void RunAll()
    {
        while (TryTake(out OneWayFailure? failure, out OneWayCharge? charge))
        {
            OnFailed(failure);
            charge.End();
        }
    }

    private bool TryTake(
        [NotNullWhen(true)] out OneWayFailure? failure, [NotNullWhen(true)] out OneWayCharge? charge)
    {
        lock (_gate)
        {
            _isRunning = _pending.TryDequeue(out (OneWayFailure Failure, OneWayCharge Charge) next);
            (failure, charge) = next;
            return _isRunning;
        }
    }
}
