using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Protocol;

namespace RpcOverShm.Calls;

/// <summary>
/// The trace context in a call's metadata: by default <c>traceparent</c>, <c>tracestate</c> and <c>baggage</c>, as
/// <see cref="DistributedContextPropagator.Current"/> says. Stateless.
/// </summary>
internal static class TraceContext
{
    private static readonly DistributedContextPropagator.PropagatorSetterCallback s_set =
        static (carrier, name, value) => Set((Metadata)carrier!, name, value);

    private static readonly DistributedContextPropagator.PropagatorGetterCallback s_get = Get;

    /// <summary>Returns the options with a span's context, which replaces no entry of the user.</summary>
    public static CallOptions Inject(Activity activity, CallOptions options)
    {
        Metadata metadata = [.. options.Headers ?? []];
        try
        {
            DistributedContextPropagator.Current.Inject(activity, metadata, s_set);
        }
        catch (Exception)
        {
            // A propagator of the user; the call goes without what it has not set.
        }

        return options.WithHeaders(metadata);
    }

    /// <summary>Returns the context of the client's span; none without one.</summary>
    public static ActivityContext Extract(Metadata metadata)
    {
        try
        {
            DistributedContextPropagator.Current.ExtractTraceIdAndState(
                metadata, s_get, out string? parent, out string? state);
            return ActivityContext.TryParse(parent, state, isRemote: true, out ActivityContext context)
                ? context
                : default;
        }
        catch (Exception)
        {
            return default;
        }
    }

    /// <summary>Adds the client's baggage to a span.</summary>
    public static void ExtractBaggage(Metadata metadata, Activity to)
    {
        try
        {
            // The last one that is added is the first one that is found.
            foreach ((string key, string? value) in
                DistributedContextPropagator.Current.ExtractBaggage(metadata, s_get)?.Reverse() ?? [])
            {
                to.AddBaggage(key, value);
            }
        }
        catch (Exception)
        {
            // A propagator of the user.
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
        string[] found =
        [
            .. ((Metadata)carrier!)
                .Where(entry => !entry.IsBinary && entry.Key.Equals(name, StringComparison.OrdinalIgnoreCase))
                .Select(entry => entry.Value),
        ];
        value = found.FirstOrDefault();
        values = found.Length > 1 ? found : null;
    }
}
