using System.Diagnostics.CodeAnalysis;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Connections;

/// <summary>
/// Has its owner look for connections without a call twice in an idle timeout, so that no call needs a time stamp:
/// connections that were quiet in two looks in a row had no call for the timeout, or up to half of it longer.
/// </summary>
[SuppressMessage(
    "Design", "CA1001", Justification = "A timer that is not due holds nothing.")]
internal sealed class IdleTimer
{
    /// <summary>The number of quiet looks in a row after which connections are idle.</summary>
    public const int QuietChecks = 2;

    private readonly TimeSpan _pause;
    private readonly BackgroundTimer _timer;

    /// <summary>Begins to look after <see cref="Start"/>, on the thread pool.</summary>
    public IdleTimer(TimeSpan timeout, Action look)
    {
        _pause = timeout / QuietChecks;
        _timer = new BackgroundTimer(static state => ((Action)state!).Invoke(), look);
    }

    public void Start() => _timer.Change(_pause, _pause);

    /// <summary>Stops looking, until the next start. A look that is under way may still end.</summary>
    public void Stop() => _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
}
