using RpcOverShm.Clients;
using RpcOverShm.Diagnostics;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <content>The sessions as the user sees them: their events, and how callbacks are made.</content>
public sealed partial class ShmServer
{
    private ClientSettings CallbackSettings() => new()
    {
        MaxReceiveMessageBytes = _settings.MaxReceiveMessageBytes,
        MaxSendMessageBytes = _settings.MaxSendMessageBytes,
        Side = _settings.Side,
        CallWindow = _settings.CallWindow,
        Observer = _observer,
        Authority = Address,
        Scheduling = _settings.Scheduling,
        Logger = _logger,
    };

    private sealed class Sessions(ShmServer server) : SessionHandler
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
