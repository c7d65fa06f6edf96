namespace RpcOverShm.Samples;

/// <summary>
/// The time without a worker: from the kill to the end of the first call that the next worker has served. Its events
/// are numbers of the <see cref="Load"/>, so that no clock and no tolerance decides which calls were within.
/// </summary>
/// <param name="Killed">Noted before the worker was killed.</param>
/// <param name="Gone">Noted after its process had ended: only the next worker serves calls that begin later.</param>
/// <param name="Ready">Noted after the next worker had said that it is ready.</param>
/// <param name="Over">The end of the first call that the next worker has served.</param>
internal sealed record Outage(long Killed, long Gone, long Ready, long Over)
{
    /// <summary>Whether a call may have failed: with Unavailable, if part of it was within the outage.</summary>
    public bool MayFail(EndedCall call) =>
        call.Status.StatusCode == StatusCode.Unavailable && call.Ended > Killed && call.Began < Over;

    /// <summary>Says in which part of the outage the calls began that failed.</summary>
    public string Describe(IEnumerable<EndedCall> calls)
    {
        EndedCall[] failed = [.. calls.Where(call => !call.IsOk)];
        int ran = failed.Count(call => call.Began < Killed && MayFail(call));
        int alone = failed.Count(call => call.Began > Killed && call.Began < Ready && MayFail(call));
        int early = failed.Count(call => call.Began > Ready && MayFail(call));
        int outside = failed.Count(call => !MayFail(call));
        return $"failed: {ran} that ran at the kill, {alone} begun without a worker, "
            + $"{early} begun before the channel had found the next one, {outside} outside of the outage";
    }
}
