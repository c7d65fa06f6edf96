using System.Diagnostics;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Clients;

/// <content>
/// Wait-for-ready calls and users of the channel that wait for a connection despite failures. They may wait for ever,
/// so a log entry says why there is no connection: after one second, and then whenever the wait has doubled.
/// </content>
internal sealed partial class Subchannel
{
    private static readonly TimeSpan s_firstReport = TimeSpan.FromSeconds(1);

    private BackgroundTimer? _reportTimer; // guarded by the lock, as are the next fields
    private int _waits;          // in progress
    private long _waitingSince;  // the time stamp of the first of those
    private TimeSpan _reportAt;  // when the wait is reported next, from its beginning

    /// <summary>Waits until the channel is connected.</summary>
    /// <exception cref="OperationCanceledException">
    /// The token was cancelled. The exception says why there is no connection.
    /// </exception>
    public async Task ConnectAsync(CancellationToken cancellationToken)
    {
        try
        {
            _ = await AwaitReadyAsync(GetAsync(isWaitForReady: true).AsTask(), cancellationToken)
                .ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (cancellationToken.IsCancellationRequested)
        {
            ConnectException? failure = LastFailure;
            throw new OperationCanceledException(
                $"The wait for a connection was cancelled. {Explain(failure)}",
                failure?.ToPublicException(),
                cancellationToken);
        }
    }

    public override async Task<Connection> AwaitReadyAsync(
        Task<Connection> connecting, CancellationToken cancellationToken)
    {
        if (connecting.IsCompleted)
        {
            return await connecting.ConfigureAwait(false);
        }

        BeginWait();
        try
        {
            return await connecting.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            EndWait();
        }
    }

    private void BeginWait()
    {
        using (_lock.Enter())
        {
            if (_waits++ == 0)
            {
                _reportTimer ??= new BackgroundTimer(static mine => ((Subchannel)mine!).ReportWaits(), this);
                _waitingSince = Stopwatch.GetTimestamp();
                ScheduleReport(s_firstReport);
            }
        }
    }

    private void EndWait()
    {
        using (_lock.Enter())
        {
            if (--_waits == 0)
            {
                _reportTimer!.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            }
        }
    }

    private void ReportWaits()
    {
        int waits;
        TimeSpan waited;
        using (_lock.Enter())
        {
            (waits, waited) = (_waits, Stopwatch.GetElapsedTime(_waitingSince));
            if (waits == 0)
            {
                return;
            }

            // A timer may be early by a tick, or have been set for another wait meanwhile.
            bool isEarly = waited < _reportAt;
            ScheduleReport(isEarly ? _reportAt : 2 * _reportAt);
            if (isEarly)
            {
                return;
            }
        }

        ShmLog.NotConnected(
            settings.Logger, address.Name, (long)waited.TotalSeconds, waits, Explain(LastFailure));
    }

    // Under the lock.
    private void ScheduleReport(TimeSpan at)
    {
        _reportAt = at;
        double left = (at - Stopwatch.GetElapsedTime(_waitingSince)).TotalMilliseconds;
        _reportTimer!.Change(
            TimeSpan.FromMilliseconds(Math.Ceiling(Math.Clamp(left, 0, int.MaxValue))), Timeout.InfiniteTimeSpan);
    }

    private string Explain(ConnectException? failure) =>
        failure?.Message ?? $"The server at {address.Name} has not answered yet.";
}
