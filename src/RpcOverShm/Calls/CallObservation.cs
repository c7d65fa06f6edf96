using System.Diagnostics;
using System.Diagnostics.Metrics;
using Grpc.Core;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Calls;

/// <summary>
/// A call of either side that somebody watches: its span, and its duration for the histogram of its side. It is made
/// only while there are listeners, and ends once; later ends are dropped. The listeners are user code: what they throw
/// is swallowed, because a call must not fail for it. Thread-safe.
/// </summary>
internal sealed class CallObservation
{
    private readonly bool _isOfServer;
    private readonly string _method;
    private readonly string _address;
    private readonly Activity? _outer;
    private readonly Activity? _activity;
    private readonly long _begun = Stopwatch.GetTimestamp();
    private int _hasEnded;

    private CallObservation(bool isOfServer, string method, string address, ActivityContext parent)
    {
        _isOfServer = isOfServer;
        _method = method;
        _address = address;
        _outer = Activity.Current;
        ActivitySource source = isOfServer ? Telemetry.ServerSource : Telemetry.ClientSource;
        if (!source.HasListeners())
        {
            return; // only durations are measured
        }

        try
        {
            _activity = source.StartActivity(
                method, isOfServer ? ActivityKind.Server : ActivityKind.Client, parent, Tags());
        }
        catch (Exception)
        {
            // The sampler or a processor threw.
        }
    }

    /// <summary>Counts the duration for a reader of the server's statistics; null if none wants it.</summary>
    public LatencyCounts? Latencies { get; init; }

    /// <summary>
    /// Starts an outgoing call, whose span is the current one meanwhile. An exception of the start ends the
    /// observation. Starts the call without one if nobody listens.
    /// </summary>
    /// <param name="fullName">The full name of the method, with the leading slash.</param>
    /// <param name="address">The address of the channel.</param>
    /// <param name="options">The options of the call.</param>
    /// <param name="start">Receives the options with the trace context in their metadata.</param>
    public static TCall OfClient<TCall>(
        string fullName,
        string address,
        in CallOptions options,
        Func<CallOptions, CallObservation?, TCall> start)
    {
        if (!Telemetry.IsClientWatched)
        {
            return start(options, null);
        }

        var made = new CallObservation(isOfServer: false, fullName[1..], address, default);
        try
        {
            return start(TraceContext.Inject(made._activity ?? made._outer, options), made);
        }
        catch (Exception failure)
        {
            made.End(failure);
            throw;
        }
        finally
        {
            made.Leave();
        }
    }

    /// <summary>Observes an outgoing call that could not even be made.</summary>
    public static void OfFailure(string fullName, string address, Exception failure)
    {
        var made = new CallObservation(isOfServer: false, fullName[1..], address, default);
        made.End(failure);
        made.Leave();
    }

    /// <summary>Begins to observe a method. Its span is the current one until <see cref="Leave"/>.</summary>
    /// <param name="fullName">The full name of the method, with the leading slash.</param>
    /// <param name="address">The address of the server.</param>
    /// <param name="headers">The metadata of the request, in which the trace context comes.</param>
    /// <param name="latencies">Counts the duration, too; null for none.</param>
    public static CallObservation OfServer(
        string fullName, string address, Metadata headers, LatencyCounts? latencies = null)
    {
        ActivityContext parent = headers.Count > 0 && Telemetry.ServerSource.HasListeners()
            ? TraceContext.Extract(headers)
            : default;
        var made = new CallObservation(isOfServer: true, fullName[1..], address, parent) { Latencies = latencies };
        if (made._activity is { } activity)
        {
            TraceContext.ExtractBaggage(headers, activity);
        }

        return made;
    }

    /// <summary>Restores what was the current span of this thread before the call began.</summary>
    public void Leave() => SetCurrent(_outer);

    /// <summary>Ends the call with a status, unless it has ended.</summary>
    public void End(StatusCode status, string? detail = null)
    {
        bool isError = _isOfServer ? IsServerError(status) : status != StatusCode.OK;
        End(status, isError ? StatusNames.Of(status) : null, detail);
    }

    /// <summary>Ends a call that failed with an exception, unless it has ended.</summary>
    public void End(Exception failure)
    {
        // A channel may be set to throw the other one; the status is inside.
        if ((failure as RpcException ?? failure.InnerException as RpcException) is { } rpc)
        {
            End(rpc.StatusCode, rpc.Status.Detail);
        }
        else
        {
            // The call was not even started.
            End(status: null, failure.GetType().FullName, failure.Message);
        }
    }

    private void End(StatusCode? status, string? error, string? detail)
    {
        if (Interlocked.Exchange(ref _hasEnded, 1) != 0)
        {
            return;
        }

        TimeSpan duration = Stopwatch.GetElapsedTime(_begun);
        Latencies?.Add(duration);
        Activity? current = Activity.Current;
        try
        {
            Record(duration, status, error);
            EndActivity(duration, status, error, detail);
        }
        catch (Exception)
        {
            // A listener threw.
        }

        // The stop has changed it on this thread, which may be in any code of the user.
        SetCurrent(current);
    }

    private static void SetCurrent(Activity? activity)
    {
        try
        {
            if (Activity.Current != activity)
            {
                Activity.Current = activity;
            }
        }
        catch (Exception)
        {
            // A handler of Activity.CurrentChanged threw.
        }
    }

    // gRPC's rule: the other failures are the client's.
    private static bool IsServerError(StatusCode status) => status
        is StatusCode.Unknown
        or StatusCode.DeadlineExceeded
        or StatusCode.Unimplemented
        or StatusCode.Internal
        or StatusCode.Unavailable
        or StatusCode.DataLoss;

    private KeyValuePair<string, object?>[] Tags() =>
    [
        new(TelemetryNames.System, TelemetryNames.SystemValue),
        new(TelemetryNames.Method, _method),
        new(TelemetryNames.ServerAddress, _address),
    ];

    private void Record(TimeSpan duration, StatusCode? status, string? error)
    {
        Histogram<double> durations = _isOfServer ? Telemetry.ServerDuration : Telemetry.ClientDuration;
        if (!durations.Enabled)
        {
            return;
        }

        var tags = new TagList
        {
            { TelemetryNames.System, TelemetryNames.SystemValue },
            { TelemetryNames.Method, _method },
        };
        if (!_isOfServer)
        {
            tags.Add(TelemetryNames.ServerAddress, _address);
        }

        if (status is { } code)
        {
            tags.Add(TelemetryNames.StatusCode, StatusNames.Of(code));
        }

        if (error is not null)
        {
            tags.Add(TelemetryNames.ErrorType, error);
        }

        durations.Record(duration.TotalSeconds, tags);
    }

    private void EndActivity(TimeSpan duration, StatusCode? status, string? error, string? detail)
    {
        if (_activity is not { } activity)
        {
            return;
        }

        if (status is { } code)
        {
            activity.SetTag(TelemetryNames.StatusCode, StatusNames.Of(code));
        }

        if (error is not null)
        {
            activity.SetTag(TelemetryNames.ErrorType, error);
            activity.SetStatus(ActivityStatusCode.Error, detail);
        }

        activity.SetEndTime(activity.StartTimeUtc + duration);
        activity.Dispose();
    }
}
