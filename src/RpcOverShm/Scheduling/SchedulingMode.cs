namespace RpcOverShm.Scheduling;

/// <summary>The threads on which continuations and methods run, as the public <c>ShmSchedulingMode</c> says.</summary>
internal enum SchedulingMode
{
    Adaptive,
    Inline,
    ThreadPool,
}
