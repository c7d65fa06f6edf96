using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>The time limits of calls that a channel's options set, made from the checked options. Immutable.</summary>
/// <param name="methods">
/// The timeouts of the service config by the names of <see cref="MethodNames"/>. Null if a config has none, infinite if
/// it exempts its methods.
/// </param>
/// <param name="defaultLimit">The time limit of calls without a deadline; null for none.</param>
internal sealed class CallTimeouts(IReadOnlyDictionary<string, TimeSpan?> methods, TimeSpan? defaultLimit)
{
    /// <summary>Returns the time limit of a method's calls; null if there is none.</summary>
    public CallTimeout? Find(IMethod method)
    {
        if (MethodNames.TryFind(methods, method, out TimeSpan? timeout) && timeout is { } time)
        {
            return time == Timeout.InfiniteTimeSpan ? null : new CallTimeout(time, LimitsDeadlines: true);
        }

        return defaultLimit is { } limit ? new CallTimeout(limit, LimitsDeadlines: false) : null;
    }
}

/// <summary>The time limit of the calls of one method.</summary>
/// <param name="Time">The time, above zero.</param>
/// <param name="LimitsDeadlines">Whether it also applies to calls with a later deadline of their own.</param>
internal sealed record CallTimeout(TimeSpan Time, bool LimitsDeadlines)
{
    /// <summary>Returns the time limit of a call whose own deadline leaves it this much time; null for none.</summary>
    public TimeSpan Apply(TimeSpan? own) => own is { } time && (!LimitsDeadlines || time < Time) ? time : Time;
}
