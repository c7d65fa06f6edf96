using RpcOverShm.Protocol;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>Checks the limits of a server's calls; error messages name the options and the allowed values.</summary>
internal static class LimitChecks
{
    // Without MaxBufferSize, the share of the memory that is available to the process.
    private const int ShareOfMemory = 4;

    // By default the largest message fits with its array, which may be larger, and with what is counted besides.
    private const long RoomOfMessage = 2;

    /// <summary>Returns the limits of a server or of a channel's callbacks.</summary>
    /// <param name="options">The options.</param>
    /// <param name="memoryBytes">The memory that is available to the process; null to ask the runtime.</param>
    /// <exception cref="ArgumentException">A limit is not allowed, or contradicts another one.</exception>
    public static ServerLimits Of(ShmServerOptions options, long? memoryBytes = null)
    {
        AtLeast(1, options.MaxConcurrentCallsPerConnection, nameof(options.MaxConcurrentCallsPerConnection));
        AtMost(
            PeerLimits.CallsPerConnection,
            options.MaxConcurrentCallsPerConnection,
            nameof(options.MaxConcurrentCallsPerConnection));
        AtLeast(1, options.MaxConcurrentCalls ?? 1, nameof(options.MaxConcurrentCalls));
        AtLeast(0, options.MaxQueuedCalls, nameof(options.MaxQueuedCalls));
        AtLeast(1, options.MaxConnectionBufferSize ?? 1, nameof(options.MaxConnectionBufferSize));
        AtLeast(1, options.MaxBufferSize ?? 1, nameof(options.MaxBufferSize));
        TimerTime(options.RequestHeadTimeout, nameof(options.RequestHeadTimeout));
        if (options.MaxReceiveMessageSize > options.MaxConnectionBufferSize)
        {
            throw new ArgumentException(
                $"{nameof(options.MaxConnectionBufferSize)} is {options.MaxConnectionBufferSize} bytes and must be at "
                + $"least {nameof(options.MaxReceiveMessageSize)}, {options.MaxReceiveMessageSize}: "
                + "otherwise a message of the allowed size is refused.");
        }

        if (options.MaxReceiveMessageSize > options.MaxBufferSize)
        {
            throw new ArgumentException(
                $"{nameof(options.MaxBufferSize)} is {options.MaxBufferSize} bytes and must be at least "
                + $"{nameof(options.MaxReceiveMessageSize)}, {options.MaxReceiveMessageSize}: "
                + "otherwise a message of the allowed size is refused.");
        }

        if (options.MaxBufferSize < options.MaxConnectionBufferSize)
        {
            throw new ArgumentException(
                $"{nameof(options.MaxBufferSize)} is {options.MaxBufferSize} bytes and must be at least "
                + $"{nameof(options.MaxConnectionBufferSize)}, {options.MaxConnectionBufferSize}, the share of one "
                + "connection.");
        }

        return new ServerLimits(
            options.MaxConcurrentCallsPerConnection,
            options.MaxConcurrentCalls,
            options.MaxQueuedCalls,
            options.MaxConnectionBufferSize ?? ConnectionBytes(options),
            options.MaxBufferSize ?? ServerBytes(options, memoryBytes),
            options.RequestHeadTimeout);
    }

    /// <summary>Checks the options of a service with instances.</summary>
    /// <exception cref="ArgumentException">An option is not allowed, or contradicts another one.</exception>
    public static InstanceSettings Of(ShmServiceOptions options, bool isOfServer)
    {
        AtLeast(1, options.MaxConcurrentCallsPerInstance ?? 1, nameof(options.MaxConcurrentCallsPerInstance));
        AtLeast(0, options.MaxQueuedCallsPerInstance, nameof(options.MaxQueuedCallsPerInstance));
        InstanceLifetime lifetime = options.Lifetime switch
        {
            ShmServiceLifetime.Singleton => InstanceLifetime.Server,
            ShmServiceLifetime.PerCall => InstanceLifetime.Call,
            ShmServiceLifetime.PerSession when isOfServer => InstanceLifetime.Session,
            ShmServiceLifetime.PerSession => throw new ArgumentException(
                $"{nameof(options.Lifetime)} PerSession is only for the services of a server: the calls of "
                + "ShmChannelOptions.CallbackServices come from one server. Use Singleton or PerCall."),
            _ => throw new ArgumentOutOfRangeException(
                nameof(options), options.Lifetime, "Lifetime is Singleton, PerCall or PerSession."),
        };
        return lifetime != InstanceLifetime.Call || options.MaxConcurrentCallsPerInstance is null
            ? new InstanceSettings(
                lifetime, options.MaxConcurrentCallsPerInstance, options.MaxQueuedCallsPerInstance)
            : throw new ArgumentException(
                $"{nameof(options.MaxConcurrentCallsPerInstance)} is {options.MaxConcurrentCallsPerInstance} but "
                + $"{nameof(options.Lifetime)} is PerCall, so that each call has an instance of its own. Use Singleton "
                + "or PerSession, or no limit.");
    }

    /// <summary>Checks the maximum depth of callbacks.</summary>
    public static int Depth(int maxCallbackDepth)
    {
        AtLeast(1, maxCallbackDepth, nameof(ShmServerOptions.MaxCallbackDepth));
        return maxCallbackDepth;
    }

    private static long ConnectionBytes(ShmServerOptions options) => options.MaxReceiveMessageSize is { } message
        ? Math.Min(
            Math.Max(ShmDefaults.MaxConnectionBufferSize, message * RoomOfMessage),
            options.MaxBufferSize ?? long.MaxValue)
        : long.MaxValue;

    // Without a limit of messages there is room for the largest one that can be.
    private static long ServerBytes(ShmServerOptions options, long? memoryBytes)
    {
        long least = options.MaxConnectionBufferSize ?? (options.MaxReceiveMessageSize ?? int.MaxValue) * RoomOfMessage;
        long memory = memoryBytes ?? GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
        return Math.Max(least, memory / ShareOfMemory);
    }

    /// <summary>Returns the calls that the server takes at a time from one client: running and waiting.</summary>
    public static uint CallsAtATime(ServerLimits limits) =>
        (uint)Math.Min(PeerLimits.CallsPerConnection, (long)limits.PerConnection + limits.Queued);

    private static void TimerTime(TimeSpan time, string name)
    {
        if (time <= TimeSpan.Zero || time.TotalMilliseconds > int.MaxValue)
        {
            throw new ArgumentOutOfRangeException(name, time, $"{name} is above zero and below 24 days.");
        }
    }

    private static void AtLeast(long least, long value, string name)
    {
        if (value < least)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} is {least} or more.");
        }
    }

    private static void AtMost(long most, long value, string name)
    {
        if (value > most)
        {
            throw new ArgumentOutOfRangeException(name, value, $"{name} is at most {most}.");
        }
    }
}
