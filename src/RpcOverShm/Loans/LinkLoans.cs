using System.Runtime.InteropServices;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Loans;

/// <summary>
/// The loans of a link whose sides have agreed on them: what this side lends, and what it borrows. Thread-safe.
/// </summary>
internal sealed class LinkLoans
{
    private readonly ILogger _logger;
    private readonly Guid _connectionId;
    private readonly string _peer;
    private readonly LoanQuota _quota;
    private int _leaks;
    private bool _isShortageLogged;

    /// <param name="limits">The limits of this side.</param>
    /// <param name="offer">
    /// Passes a file to the peer. Returns false if it cannot be passed now: the file is then dropped.
    /// </param>
    /// <param name="beforeMaking">Called on the thread of a rent before that makes a file, which takes long.</param>
    /// <param name="logger">The logger of the link.</param>
    /// <param name="connectionId">The id of the link.</param>
    /// <param name="peer">The peer, for log entries.</param>
    public LinkLoans(
        LoanLimits limits,
        Func<FileNotice, SafeHandle, bool> offer,
        Action beforeMaking,
        ILogger logger,
        Guid connectionId,
        string peer)
    {
        (_logger, _connectionId, _peer) = (logger, connectionId, peer);
        _quota = new LoanQuota(limits);
        Lent = new LoanPool(_quota, offer, LogShortage) { OnLeaked = OnLeaked, BeforeMaking = beforeMaking };
        Borrowed = new PeerLoans(new LoanQuota(limits, isOfPeer: true)) { OnLeaked = OnLeaked };
    }

    /// <summary>The loans of this side to the peer.</summary>
    public LoanPool Lent { get; }

    /// <summary>The loans of the peer to this side.</summary>
    public PeerLoans Borrowed { get; }

    /// <summary>Whether there is something to tell the peer. A hint.</summary>
    public bool HasNews => Borrowed.HasNews || Lent.HasWish;

    /// <summary>The payloads that were never disposed.</summary>
    public int Leaks => Volatile.Read(ref _leaks);

    /// <summary>
    /// Counts and logs that a rent has failed at the limit. Returns the sentence for the user.
    /// </summary>
    public string ReportLimit(int length)
    {
        (string option, long limit) = (LoanLimits.ConnectionOption, _quota.PerConnection);
        long taken = Lent.TakenBytes;
        long lent = Lent.LentBytes;
        LimitEvents.Reached(_logger, option, limit, $"{_peer}: a payload of {length} bytes could not be rented.");
        return $"A payload of {length} bytes has no room within {option}, which is {limit} bytes: {taken} bytes are "
            + $"rented on this connection, and the peer has not returned {lent} of these. Dispose "
            + $"payloads on both sides when they were sent or read, or raise {option}.";
    }

    /// <summary>
    /// Sets what is called, under no lock, when the peer must be told something. Before the first file comes.
    /// </summary>
    public void SetOnNews(Action onNews) => (Lent.OnWish, Borrowed.OnNews) = (onNews, onNews);

    /// <summary>Maps a file that the peer has passed, on a pool thread. Takes the handle over.</summary>
    public void BeginMap(PeerFile file, SafeHandle handle) =>
        PoolWork.Queue(static work => work.Map(), new Mapping(this, file, handle));

    /// <summary>
    /// Ends all loans with the link, on a pool thread: to unmap large files takes milliseconds, and the last user of a
    /// link may be an event loop.
    /// </summary>
    public void BeginClose() => PoolWork.Queue(static loans => loans.Close(), this);

    private void Close()
    {
        Lent.Close();
        Borrowed.Close();
    }

    private void OnLeaked(int length)
    {
        Interlocked.Increment(ref _leaks);
        DeferredLog.Write(_logger, log => ShmLog.PayloadLeaked(log, _connectionId, _peer, length));
    }

    private void LogShortage(string reason)
    {
        // One entry for a link: the next payloads meet the same reason.
        if (!Interlocked.Exchange(ref _isShortageLogged, true))
        {
            DeferredLog.Write(_logger, log => ShmLog.PayloadsCopied(log, _connectionId, _peer, reason));
        }
    }

    private sealed record Mapping(LinkLoans Loans, PeerFile File, SafeHandle Handle)
    {
        public void Map()
        {
            if (Loans.Borrowed.Map(File, Handle) is { } problem)
            {
                Loans.LogShortage(problem);
            }
        }
    }
}
