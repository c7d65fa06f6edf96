namespace RpcOverShm.Servers;

/// <summary>The settings of a service's instances, from checked options.</summary>
/// <param name="Lifetime">How long an instance serves calls.</param>
/// <param name="MaxCalls">The calls that run on one instance at a time; null for no limit.</param>
/// <param name="MaxQueued">The calls that may wait for one instance.</param>
internal sealed record InstanceSettings(InstanceLifetime Lifetime, int? MaxCalls, int MaxQueued)
{
    // The names of the public options, for log entries and details of a status. A test compares them.
    public const string CallsOption = "MaxConcurrentCallsPerInstance";
    public const string QueuedOption = "MaxQueuedCallsPerInstance";
}

/// <summary>The time for which an instance of a service serves calls.</summary>
internal enum InstanceLifetime
{
    Server,
    Session,
    Call,
}
