using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>
/// Options for the instances of a service, how they live and run:
/// <see cref="ShmServiceCollection.Add{TService}(Func{ShmActivationContext, TService}, ShmServiceOptions,
/// Interceptor[])"/>.
/// </summary>
/// <remarks>
/// Read when the service is added; later changes have no effect. Not thread-safe. Nothing to dispose.
/// </remarks>
public sealed class ShmServiceOptions
{
    /// <summary>Gets or sets how long an instance serves calls.</summary>
    /// <remarks>
    /// Defaults to <see cref="ShmServiceLifetime.PerCall"/>, as in ASP.NET Core. The services of a channel
    /// (<see cref="ShmCallbackOptions.Services"/>) cannot be <see cref="ShmServiceLifetime.PerSession"/>: their
    /// calls come from one server.
    /// </remarks>
    public ShmServiceLifetime Lifetime { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of calls that run on one instance at a time; 1 or more.
    /// <para>Null means no limit. 1 is WCF's ConcurrencyMode.Reentrant.</para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null. Not allowed with <see cref="ShmServiceLifetime.PerCall"/>, where no two calls have the same
    /// instance.
    /// </para>
    /// <para>
    /// Excess calls wait, without a thread, until they run or end, in turn with those of other clients; see
    /// <see cref="MaxQueuedCallsPerInstance"/>. A call counts until its method has returned, also one with streams. The
    /// calls that wait count as running ones for <see cref="ShmServerLimits.MaxConcurrentCalls"/> and
    /// <see cref="ShmCallLimits.MaxConcurrentCallsPerConnection"/>.
    /// </para>
    /// <para>
    /// A call does not count while its method waits for a callback (<see cref="ShmSession.CreateCallInvoker"/>): from
    /// the start of the callback to its response, while it waits for a message of a response stream, and from the end
    /// of a stream of requests to its response. Other calls may run on the instance meanwhile; before the method gets
    /// the response, it waits for its turn again. It goes before the calls that have not begun. So a method whose state
    /// must not change meanwhile does not make callbacks; and one that goes on without awaiting its callback runs
    /// beside other calls.
    /// </para>
    /// <para>
    /// A call to the same instance that is made by a callback of its method, or by a channel of the method in the same
    /// process, does not wait for that method: it runs beside it, one call at a time.
    /// </para>
    /// <para>
    /// Calls that wait are served in turn, one of each client, and those of a client in their order. A client that
    /// makes many calls and callbacks as above delays the other clients of a
    /// <see cref="ShmServiceLifetime.Singleton"/>: these calls go first, and
    /// <see cref="MaxQueuedCallsPerInstance"/> does not count them. Where that matters, use
    /// <see cref="ShmServiceLifetime.PerSession"/>.
    /// </para>
    /// </remarks>
    public int? MaxConcurrentCallsPerInstance { get; set; }

    /// <summary>Gets or sets the maximum number of calls of one client that wait for one instance; 0 or more.</summary>
    /// <remarks>
    /// Defaults to 1,000. Further calls fail with <see cref="StatusCode.ResourceExhausted"/>. No effect without
    /// <see cref="MaxConcurrentCallsPerInstance"/>.
    /// </remarks>
    public int MaxQueuedCallsPerInstance { get; set; } = ShmDefaults.MaxQueuedCallsPerInstance;

    /// <summary>
    /// Gets or sets whether the calls of one client to the service start in the order in which the client made them.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to false. If it is true, each method runs until it awaits something for the first time, or returns,
    /// before the next one starts; then they may overlap. A method that blocks before delays those behind it. To run
    /// them one after the other, set <see cref="MaxConcurrentCallsPerInstance"/> to 1, too.
    /// </para>
    /// <para>
    /// The order is that in which requests arrive whole: a stream of requests counts with its start, but a large single
    /// request with its end. It holds for each channel: calls of several channels have no order. A call that a running
    /// method may wait for starts at once: a callback for a call, a call that a callback makes, and one that a method
    /// makes to its own server through a channel of the same process. A call that waits for those before it counts as a
    /// waiting one (<see cref="ShmCallLimits.MaxQueuedCallsPerConnection"/>), and holds no place of its connection.
    /// </para>
    /// </remarks>
    public bool EnableOrderedDispatch { get; set; }

    /// <summary>Returns the checked settings of the instances.</summary>
    /// <param name="isOfServer">Whether the service is one of a server, not one that a channel offers.</param>
    /// <exception cref="ArgumentException">An option is not allowed, or contradicts another one.</exception>
    internal InstanceSettings ToInstanceSettings(bool isOfServer)
    {
        OptionRanges.AtLeast(1, MaxConcurrentCallsPerInstance, nameof(MaxConcurrentCallsPerInstance), "no limit");
        OptionRanges.AtLeast(0, MaxQueuedCallsPerInstance, nameof(MaxQueuedCallsPerInstance));
        OptionRanges.OneOf<ShmServiceLifetime>(Lifetime, nameof(Lifetime));
        InstanceLifetime lifetime = Lifetime switch
        {
            ShmServiceLifetime.Singleton => InstanceLifetime.Server,
            ShmServiceLifetime.PerSession when isOfServer => InstanceLifetime.Session,
            ShmServiceLifetime.PerSession => throw new ArgumentException(
                $"{nameof(Lifetime)} PerSession is only for the services of a server: the calls of "
                + "ShmChannelOptions.Callbacks.Services come from one server. Use Singleton or PerCall."),
            _ => InstanceLifetime.Call,
        };
        return lifetime != InstanceLifetime.Call || MaxConcurrentCallsPerInstance is null
            ? new InstanceSettings(lifetime, MaxConcurrentCallsPerInstance, MaxQueuedCallsPerInstance)
            : throw new ArgumentException(
                $"{nameof(MaxConcurrentCallsPerInstance)} is {MaxConcurrentCallsPerInstance} but {nameof(Lifetime)} is "
                + "PerCall, so that each call has an instance of its own. Use Singleton or PerSession, or no limit.");
    }
}
