using Grpc.Core;
using RpcOverShm.Connections;
using RpcOverShm.Links;

namespace RpcOverShm.Clients;

/// <content>
/// Closes a connection that no call has used for the idle timeout. The channel is then Idle until the next call.
/// </content>
internal sealed partial class Subchannel
{
    private IdleTimer? _idleTimer;
    private int _quietChecks; // in a row; guarded by the lock

    /// <summary>
    /// The reason for closing an idle connection. It has the kind of a close by the server, so that a call on the
    /// connection fails with Unavailable and not with Cancelled.
    /// </summary>
    public static CloseReason IdleTimeoutReached =>
        new(CloseKind.PeerClosed, "The channel had no call for its IdleTimeout.");

    /// <summary>
    /// The reason for closing a connection whose server has sent GoAway. It has the kind of a close by the server, so
    /// that a later call of a callback's method fails with Unavailable and not with Cancelled.
    /// </summary>
    public static CloseReason ServerLeaving =>
        new(CloseKind.PeerClosed, "The server accepts no more calls on this connection.");

    /// <summary>
    /// Enables the idle timeout: a connection without a call for this time is closed. Called once, before the channel
    /// connects.
    /// </summary>
    public void EnableIdleTimeout(TimeSpan timeout) => _idleTimer = new IdleTimer(timeout, CheckIdle);

    /// <summary>Checks once for calls on the connection, and closes it at the second quiet check in a row.</summary>
    public void CheckIdle()
    {
        Connection leaving;
        using (_lock.Enter())
        {
            bool isQuiet = _state == ConnectivityState.Ready && _current?.CheckQuiet() == true;
            _quietChecks = isQuiet ? _quietChecks + 1 : 0;
            if (_quietChecks < IdleTimer.QuietChecks)
            {
                return;
            }

            leaving = _current!;
            _current = null;
            SetState(ConnectivityState.Idle);
        }

        _ = RetireAsync(leaving, IdleTimeoutReached);
    }

    /// <summary>
    /// Lets no more calls start on a connection that is no longer current, and closes it when its calls have ended.
    /// </summary>
    private static async Task RetireAsync(Connection connection, CloseReason reason, bool isDrainedFirst = false)
    {
        if (isDrainedFirst)
        {
            // Until then, methods of callbacks may make calls on this connection.
            await connection.WhenOutgoingCallsEndAsync().ConfigureAwait(false);
            await connection.WhenIncomingCallsEndAsync().ConfigureAwait(false);
        }

        // A call that has chosen this connection and not started finds it closed, and starts on another one.
        connection.Sender.Retire();
        await connection.WhenOutgoingCallsEndAsync().ConfigureAwait(false);
        connection.Sender.SendGoAway();
        await connection.WhenIncomingCallsEndAsync().ConfigureAwait(false);
        connection.Close(reason);
    }

    // Under the lock, when the state has changed.
    private void SetIdleTimer(bool isReady)
    {
        _quietChecks = 0;
        if (isReady)
        {
            _idleTimer?.Start();
        }
        else
        {
            _idleTimer?.Stop();
        }
    }
}
