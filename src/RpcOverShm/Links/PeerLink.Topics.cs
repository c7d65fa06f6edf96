using RpcOverShm.Diagnostics;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Topics;

namespace RpcOverShm.Links;

/// <content>The topics of a server: it passes their files, and rings the client that waits for messages.</content>
internal sealed partial class PeerLink
{
    /// <summary>The topics that the server passes to this client; null if there are none on this link.</summary>
    public PeerTopics? PeerTopics { get; private set; }

    /// <summary>The topics that this server passes to the client; null if there are none on this link.</summary>
    public PassedTopics? PassedTopics { get; private set; }

    // Files after the handshake: data files of both sides, and topics of the server.
    private bool TakesFiles => Loans is not null || PeerTopics is not null;

    /// <summary>
    /// Sets what is called, under no lock, when the peer must be told of loans or topics. Before any of them comes.
    /// </summary>
    public void SetOnNews(Action onNews)
    {
        Loans?.SetOnNews(onNews);
        if (PeerTopics is not null)
        {
            PeerTopics.OnNews = onNews;
        }

        if (PassedTopics is not null)
        {
            PassedTopics.OnNews = onNews;
        }
    }

    // The parts that the sides have agreed on.
    private void MakeParts(ConnectionSettings settings, uint features)
    {
        if ((features & Hello.LoansFeature) != 0)
        {
            Loans = new LinkLoans(
                settings.Loans!,
                TryPassFile,
                LoopThread.LeaveLoopBeforeSleep,
                _logger,
                ConnectionId,
                Identity.ToString());
        }

        if ((features & Hello.TopicsFeature) != 0)
        {
            MakeTopics(settings.MaxTopicBytes);
        }

        if ((features & Hello.HandlesFeature) != 0)
        {
            Handles = new LinkHandles(_wire, settings.MaxHeldHandles!.Value, _logger, Identity.ToString());
        }
    }

    private void MakeTopics(long maxBytes)
    {
        if (IsAcceptor)
        {
            PassedTopics = new PassedTopics(
                this, TryPassFile, new TopicDoorbell(_peer), () => RingSocket(WakeMethods.Doorbell));
            return;
        }

        PeerTopics = new PeerTopics(maxBytes, new TopicParking(_own))
        {
            OnRefused = reason => DeferredLog.Write(
                _logger, log => ShmLog.TopicNotMapped(log, ConnectionId, Identity.ToString(), reason)),
        };
    }
}
