using System.Diagnostics.CodeAnalysis;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Connections;

/// <summary>
/// Checks for idle connections twice per idle timeout, so that calls need no time stamp. A connection that was quiet at
/// two checks in a row has had no call for between 1 and 1.5 times the timeout.
/// </summary>
[SuppressMessage(
    "Design", "CA1001", Justification = "A timer that is not due holds nothing.")]
internal sealed class IdleTimer
{
    /// <summary>The number of consecutive quiet checks after which a connection is idle.</summary>
    public const int QuietChecks = 2;

    private readonly TimeSpan _pause;
    private readonly BackgroundTimer _timer;

    /// <summary>
    /// Creates the timer, stopped. After <see cref="Start"/>, <paramref name="onCheck"/> runs on the thread pool.
    /// </summary>
    public IdleTimer(TimeSpan timeout, Action onCheck)
    {
        _pause = timeout / QuietChecks;
        _timer = new BackgroundTimer(static state => ((Action)state!).Invoke(), onCheck);
    }

    public void Start() => _timer.Change(_pause, _pause);

    /// <summary>Stops the checks until the next start. A check in progress still completes.</summary>
    public void Stop() => _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
}
