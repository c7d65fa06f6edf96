using RpcOverShm.Clients;
using RpcOverShm.Diagnostics;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <content>The sessions as the user sees them: who is connected, events, and how callbacks are made.</content>
public sealed partial class ShmServer
{
    /// <summary>Gets the sessions that are open now, in the order in which they started.</summary>
    /// <remarks>
    /// A snapshot, which is made at each read: sessions that start or end later do not change it. Empty before the
    /// server has started and after it has stopped. A session is in it before its first call and before
    /// <see cref="SessionStarted"/>, and no longer at <see cref="SessionEnded"/>. A channel that connects again has
    /// another session. The <see cref="ShmSession.ProcessId"/> and <see cref="ShmSession.User"/> of each say who the
    /// client is. Thread-safe; costs a copy of all connections, so it is for diagnosis and not for each call.
    /// </remarks>
    public IReadOnlyList<ShmSession> Sessions
    {
        get
        {
            ServerCore? running;
            using (_lock.Enter())
            {
                running = _running;
            }

            return running is null ? [] : [.. running.OpenSessions().Select(session => (ShmSession)session.View)];
        }
    }

    private ClientSettings CallbackSettings() => new()
    {
        MaxReceiveMessageBytes = _settings.MaxReceiveMessageBytes,
        MaxSendMessageBytes = _settings.MaxSendMessageBytes,
        Side = _settings.Side,
        CallWindow = _settings.CallWindow,
        WithoutCodec = PayloadMarshallers.Instance,
        Observer = _observer,
        Authority = Address,
        Scheduling = _settings.Scheduling,
        Logger = _logger,
    };

    private sealed class SessionEvents(ShmServer server) : SessionHandler
    {
        private readonly ClientSettings _callbacks = server.CallbackSettings();

        public override bool HasStartHandlers => server.SessionStarted is not null;

        public override object CreateView(ServerSession session) =>
            new ShmSession(session, _callbacks, server.Services.HasInstanceLimits);

        public override void OnStarted(ServerSession session) => Raise(server.SessionStarted, session);

        public override async Task OnEndedAsync(ServerSession session)
        {
            try
            {
                await session.CancelClosedAsync().ConfigureAwait(false);
            }
            catch (AggregateException exception)
            {
                ShmLog.SessionHandlerThrew(server._logger, session.PeerName, exception);
            }

            Raise(server.SessionEnded, session);

            // Not awaited: a stop waits for the release of instances by itself, and not for ever.
            _ = session.EndInstancesAsync(server._logger);
        }

        private void Raise(EventHandler<ShmSession>? handlers, ServerSession session)
        {
            try
            {
                handlers?.Invoke(server, (ShmSession)session.View);
            }
            catch (Exception exception)
            {
                ShmLog.SessionHandlerThrew(server._logger, session.PeerName, exception);
            }
        }
    }
}
