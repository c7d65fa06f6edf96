namespace RpcOverShm.Scheduling;

/// <summary>
/// Where continuations and served methods run. The public enumeration has the same members and says more.
/// </summary>
internal enum SchedulingMode
{
    Adaptive,
    Inline,
    ThreadPool,
}
