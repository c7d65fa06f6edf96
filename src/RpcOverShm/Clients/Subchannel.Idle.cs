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
    private int _quietLooks; // in a row; guarded by the gate

    /// <summary>
    /// The reason for closing an idle connection. It has the kind of a close by the server, so that a call on the
    /// connection fails with Unavailable and not with Cancelled.
    /// </summary>
    public static CloseReason IdleTimeoutReached => new(CloseKind.PeerClosed, "The channel had no call for its IdleTimeout.");

    /// <summary>
    /// Enables the idle timeout: a connection without a call for this time is closed. Called once, before the channel
    /// connects.
    /// </summary>
    public void CloseWhenIdle(TimeSpan timeout) => _idleTimer = new IdleTimer(timeout, CheckIdle);

    /// <summary>Checks once for calls on the connection, and closes it at the second quiet check in a row.</summary>
    public void CheckIdle()
    {
        Connection leaving;
        using (_gate.Enter())
        {
            bool isQuiet = _state == ConnectivityState.Ready && _current?.IsQuietSinceLastCheck() == true;
            _quietLooks = isQuiet ? _quietLooks + 1 : 0;
            if (_quietLooks < IdleTimer.QuietChecks)
            {
                return;
            }

            leaving = _current!;
            _current = null;
            Enter(ConnectivityState.Idle);
        }

        _ = RetireAsync(leaving, IdleTimeoutReached);
    }

    /// <summary>
    /// Lets no more calls start on a connection that is no longer current, and closes it when its calls have ended.
    /// </summary>
    private static async Task RetireAsync(Connection connection, CloseReason reason)
    {
        // A call that has chosen this connection and not started finds it closed, and starts on another one.
        connection.Sender.Retire();
        await connection.WhenOutgoingCallsEndAsync().ConfigureAwait(false);
        connection.Sender.SendGoAway();
        await connection.WhenIncomingCallsEndAsync().ConfigureAwait(false);
        connection.Close(reason);
    }

    // Under the gate, when the state has changed.
    private void SetIdleTimer(bool isReady)
    {
        _quietLooks = 0;
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
