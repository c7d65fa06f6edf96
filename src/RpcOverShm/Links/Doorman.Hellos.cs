using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>The hellos of the clients that a doorman has accepted: how they are read, answered and refused.</summary>
internal sealed partial class Doorman
{
    private void OnReadable(PendingClient client)
    {
        try
        {
            Read(client);
        }
        catch (Exception exception)
        {
            LogFailed(exception);
        }
    }

    private void Read(PendingClient client)
    {
        PeerLink? link;
        try
        {
            if (!client.Receiver.TryReceive())
            {
                WatchIfNew(client);
                return;
            }

            Remove(client);
            using Handshake.ReceivedHello? hello = Handshake.Take(client.Receiver);
            link = Answer(client, hello);
        }
        catch (Exception exception)
        {
            Remove(client);
            OnFailed(client, exception);
            return;
        }

        if (link is not null)
        {
            HandOn(link);
        }
    }

    private void WatchIfNew(PendingClient client)
    {
        if (client.Loop is null && client.Watch(Loop!, client.Wire) is { } problem)
        {
            throw new SegmentException(problem) { IsShortage = true };
        }
    }

    private void Remove(PendingClient client)
    {
        _pending.Remove(client);
        if (_isHeld)
        {
            // There is room for another one.
            Request();
        }
    }

    private PeerLink? Answer(PendingClient client, Handshake.ReceivedHello? hello)
    {
        if (hello is not null)
        {
            return ServerHandshake.Answer(client.Wire, hello, client.Identity, _settings, _places);
        }

        ForeignHandles.Shared.Close(client.Wire);
        DeferredLog.Write(_settings.Logger, log => ShmLog.ClientLeftHandshake(log, client.Identity.ProcessId));
        return null;
    }

    private void HandOn(PeerLink link)
    {
        try
        {
            _onConnected(link);
        }
        catch (Exception exception)
        {
            DeferredLog.Write(
                _settings.Logger,
                log => ShmLog.HandshakeFailed(log, _door.Address.Text, exception.Message, exception));
        }
    }

    private void OnFailed(PendingClient client, Exception exception)
    {
        switch (exception)
        {
            case SegmentException { IsShortage: true }:
                Refuse(client, RefusalReason.NoResources, exception.Message);
                break;
            case ProtocolException or SegmentException:
                Refuse(client, RefusalReason.BadHello, exception.Message);
                break;
            default:
                client.Receiver.Dispose();
                ForeignHandles.Shared.Close(client.Wire);
                bool isPeer = exception is IOException;
                DeferredLog.Write(_settings.Logger, log =>
                {
                    if (isPeer)
                    {
                        ShmLog.HandshakeBroken(log, exception.Message, exception);
                    }
                    else
                    {
                        ShmLog.HandshakeFailed(log, _door.Address.Text, exception.Message, exception);
                    }
                });
                break;
        }
    }

    private void Refuse(PendingClient client, RefusalReason reason, string text)
    {
        client.Receiver.Dispose();
        ServerHandshake.Refuse(client.Wire, _settings, reason, text);
    }

    private void RefuseSilent(PendingClient client)
    {
        client.Receiver.Dispose();
        RefuseFull(client.Wire, new ReachedLimit(
            nameof(DoorLimits.MaxPendingHandshakes),
            _settings.Door.MaxPendingHandshakes,
            $"process {client.Identity.ProcessId} sent no hello, and another client needed its place"));
    }

    private void RefuseFull(Wire wire, ReachedLimit reached) =>
        ServerHandshake.RefuseFull(wire, _settings, reached);
}
