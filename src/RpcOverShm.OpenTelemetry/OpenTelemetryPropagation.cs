using System.Diagnostics;
using OpenTelemetry;
using OpenTelemetry.Context.Propagation;
using RpcOverShm.Calls;

namespace RpcOverShm.OpenTelemetry;

/// <summary>
/// Has calls carry what OpenTelemetry's propagator writes, its <see cref="Baggage"/> included, from the first provider
/// that is built with the instrumentation until the last one is disposed. Thread-safe.
/// </summary>
internal sealed class OpenTelemetryPropagation : IDisposable
{
    private static readonly Lock s_lock = new();
    private static readonly CallPropagator s_propagator = new DefaultPropagator();
    private static int s_users;

    private bool _isDisposed;

    public OpenTelemetryPropagation() => Count(1);

    public void Dispose()
    {
        lock (s_lock)
        {
            if (!_isDisposed)
            {
                _isDisposed = true;
                Count(-1);
            }
        }
    }

    private static void Count(int change)
    {
        lock (s_lock)
        {
            s_users += change;
            TraceContext.Propagator = s_users > 0 ? s_propagator : null;
        }
    }

    private sealed class DefaultPropagator : CallPropagator
    {
        public override void Inject(ActivityContext span, Action<string, string> set) =>
            Propagators.DefaultTextMapPropagator.Inject(
                new PropagationContext(span, Baggage.Current), set, static (set, name, value) => set(name, value));

        public override ActivityContext Extract(Func<string, IEnumerable<string>> get)
        {
            PropagationContext client = Propagators.DefaultTextMapPropagator.Extract(
                default, get, static (get, name) => get(name));
            if (client.Baggage.Count > 0)
            {
                Baggage.Current = client.Baggage;
            }

            return client.ActivityContext;
        }
    }
}
