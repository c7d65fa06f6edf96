using Grpc.Core;
using RpcOverShm.Connections;
using RpcOverShm.Links;

namespace RpcOverShm.Clients;

/// <content>
/// The end of a connection that no call uses: it closes, and the channel is Idle until the next call.
/// </content>
internal sealed partial class Subchannel
{
    private IdleTimer? _idleTimer;
    private int _quietLooks; // in a row; guarded by the gate

    /// <summary>
    /// The close of an idle connection. As if by the server: a call that meets it is Unavailable, not Cancelled.
    /// </summary>
    public static CloseReason NotUsed => new(CloseKind.PeerClosed, "The channel had no call for its IdleTimeout.");

    /// <summary>
    /// Closes the connection after this time without a call. Called once, before the channel connects.
    /// </summary>
    public void CloseWhenIdle(TimeSpan timeout) => _idleTimer = new IdleTimer(timeout, CheckIdle);

    /// <summary>
    /// Looks once whether a call uses the connection, and closes it if none did since the look before the last one.
    /// </summary>
    public void CheckIdle()
    {
        Connection leaving;
        using (_gate.Enter())
        {
            bool isQuiet = _state == ConnectivityState.Ready && _current?.CheckQuiet() == true;
            _quietLooks = isQuiet ? _quietLooks + 1 : 0;
            if (_quietLooks < IdleTimer.QuietChecks)
            {
                return;
            }

            leaving = _current!;
            _current = null;
            Enter(ConnectivityState.Idle);
        }

        _ = RetireAsync(leaving, NotUsed);
    }

    /// <summary>Lets no more calls start on a connection, which is open no more; closes it after its calls.</summary>
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
