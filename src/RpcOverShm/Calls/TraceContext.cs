using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The trace context in a call's metadata: by default <c>traceparent</c>, <c>tracestate</c> and <c>baggage</c>, as
/// <see cref="DistributedContextPropagator.Current"/> says. The propagator of OpenTelemetry, if its package is in use,
/// comes before that. Thread-safe.
/// </summary>
internal static class TraceContext
{
    private static CallPropagator? s_propagator;

    private static readonly DistributedContextPropagator.PropagatorSetterCallback s_set =
        static (carrier, name, value) => Set((Metadata)carrier!, name, value);

    private static readonly DistributedContextPropagator.PropagatorGetterCallback s_get = Get;

    /// <summary>The propagator that comes before the runtime's; null for none.</summary>
    public static CallPropagator? Propagator
    {
        get => Volatile.Read(ref s_propagator);
        set => Volatile.Write(ref s_propagator, value);
    }

    /// <summary>
    /// Returns the options with the context of a span, and of the code that runs now. It replaces no entry of the user.
    /// </summary>
    /// <param name="activity">The span; null for none.</param>
    /// <param name="options">The options of the call.</param>
    public static CallOptions Inject(Activity? activity, CallOptions options)
    {
        CallPropagator? first = Propagator;
        if (first is null && activity is null)
        {
            return options;
        }

        Metadata metadata = [.. options.Headers ?? []];
        Try(() => first?.Inject(activity?.Context ?? default, (name, value) => Set(metadata, name, value)));
        Try(() => DistributedContextPropagator.Current.Inject(activity, metadata, s_set));
        return options.WithHeaders(metadata);
    }

    /// <summary>
    /// Returns the context of the client's span; none without one. Makes the client's ambient context that of the code
    /// that runs now.
    /// </summary>
    public static ActivityContext Extract(Metadata metadata)
    {
        ActivityContext client = default;
        Try(() => client = Propagator?.Extract(name => Get(metadata, name)) ?? default);
        if (client == default)
        {
            Try(() =>
            {
                DistributedContextPropagator.Current.ExtractTraceIdAndState(
                    metadata, s_get, out string? parent, out string? state);
                _ = ActivityContext.TryParse(parent, state, isRemote: true, out client);
            });
        }

        return client;
    }

    /// <summary>Adds the client's baggage to a span.</summary>
    public static void ExtractBaggage(Metadata metadata, Activity to) => Try(() =>
    {
        // The last one that is added is the first one that is found.
        foreach ((string key, string? value) in
            DistributedContextPropagator.Current.ExtractBaggage(metadata, s_get)?.Reverse() ?? [])
        {
            to.AddBaggage(key, value);
        }
    });

    private static void Try(Action ofPropagator)
    {
        try
        {
            ofPropagator();
        }
        catch (Exception)
        {
            // A propagator of the user; the call goes without what it has not set or read.
        }
    }

    private static void Set(Metadata metadata, string name, string value)
    {
        var entry = new Metadata.Entry(name, value);
        if (!metadata.Any(other => other.Key == entry.Key) && MetadataCodec.Check([entry]) is null)
        {
            metadata.Add(entry);
        }
    }

    private static void Get(object? carrier, string name, out string? value, out IEnumerable<string>? values)
    {
        string[] found = Get((Metadata)carrier!, name);
        value = found.FirstOrDefault();
        values = found.Length > 1 ? found : null;
    }

    private static string[] Get(Metadata metadata, string name) =>
    [
        .. metadata
            .Where(entry => !entry.IsBinary && entry.Key.Equals(name, StringComparison.OrdinalIgnoreCase))
            .Select(entry => entry.Value),
    ];
}

/// <summary>
/// Carries more context from the code that makes a call to its method than the runtime's propagator does. Thread-safe.
/// </summary>
internal abstract class CallPropagator
{
    /// <summary>Writes the context of a span, which may be none, and of the code that runs now.</summary>
    public abstract void Inject(ActivityContext span, Action<string, string> set);

    /// <summary>
    /// Returns the context of the client's span; none without one. Makes the client's ambient context that of the code
    /// that runs now.
    /// </summary>
    public abstract ActivityContext Extract(Func<string, IEnumerable<string>> get);
}
