using System.Diagnostics.CodeAnalysis;
using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The socket after the handshake, on which doorbells come, a refusal that says why the peer closes the link, and the
/// end. The kernel closes the peer's end, however its process ends.
/// </summary>
[SuppressMessage(
    "Design", "CA1001", Justification = "The message that is being received is disposed of at its end or failure.")]
internal sealed partial class PeerLink
{
    /// <summary>The byte that rings an event loop. No other message begins with it.</summary>
    public const byte DoorbellByte = 1;

    // An honest peer rings once for each time that this side parks, and this side then parks further on.
    private const int MostNeedlessRings = 1000;

    // Enough for about twenty doorbells, of which one is needed, and a refusal behind them. The default of the system
    // lets each socket take 208 KiB of this side's memory in the kernel.
    private const int MostUnreadBytes = 8 << 10;

    // Enough for some 160 sets of handles.
    private const int MostUnreadWithHandles = 64 << 10;

    // More messages than an honest peer can have unread, and a notice: no notice comes in two parts.
    private const int DrainBytes = 256;

    private readonly List<SafeHandle> _passed = []; // with files or handles, or by a hostile peer
    private HelloReceiver? _last; // of the refusal that is being received
    private long _rungAt = -1;    // the positions at the last ring
    private int _needlessRings;
    private long _wakeUps; // of the peer

    /// <summary>The number of system calls that woke the peer.</summary>
    public long WakeUps => Volatile.Read(ref _wakeUps);

    /// <summary>
    /// Reads what has come on the socket, without waiting. Called on the event loop. A link without its socket is
    /// closed, or its peer counts as gone.
    /// </summary>
    /// <param name="hasEnded">Whether the socket's end was announced too: that is not announced again.</param>
    public void DrainSocket(bool hasEnded)
    {
        if (IsClosed || IsPeerGone)
        {
            return;
        }

        try
        {
            int rings = 0;
            _noticesInARow = 0;
            while (_last is null && ReceiveDoorbells(hasEnded, ref rings))
            {
                // An honest peer has never rung so often that this does not end soon.
                RequireNeed(rings);
            }

            CountRings(rings);

            if (_last is not null && _last.TryReceive())
            {
                using HelloReceiver last = _last;
                OnLastMessage(last.Message);
                OnPeerGone();
            }
        }
        catch (SegmentException exception) when (exception.IsShortage)
        {
            _last?.Dispose();
            Close(new CloseReason(CloseKind.NoResources, exception.Message, exception));
        }
        catch (Exception exception) when (exception is ProtocolException or SegmentException)
        {
            _last?.Dispose();
            CloseForViolation(exception);
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // A reset is an end like any other; a disposed socket means that this side has closed the link.
            OnPeerGone();
        }
        finally
        {
            if (IsClosed || IsPeerGone)
            {
                DropPassed();
            }
        }
    }

    /// <summary>
    /// Watches the peer's process: a child that it left may hold the socket open. Without a descriptor of the process,
    /// only the end of the socket counts.
    /// </summary>
    private void WatchProcess(EventLoop loop)
    {
        ProcessWatch watch = IsAcceptor ? ProcessWatch.Servers : ProcessWatch.Channels;
        Interlocked.Exchange(
            ref _processWatch,
            watch.TryWatchPeer(_wire, Identity.ProcessId, loop, OnPeerGone, out string? problem));
        if (problem is not null)
        {
            DeferredLog.Write(
                _logger, log => ShmLog.ProcessNotWatched(log, ConnectionId, Identity.ToString(), problem));
        }
    }

    private void RingSocket(WakeMethods wakeMethods)
    {
        if ((wakeMethods & WakeMethods.Futex) != 0)
        {
            ProcessCounts.FutexWakeUps.Add(); // The caller has just issued it.
            Interlocked.Increment(ref _wakeUps);
        }

        if ((wakeMethods & WakeMethods.Doorbell) == 0 || IsClosed)
        {
            return;
        }

        ProcessCounts.DoorbellWakeUps.Add();
        Interlocked.Increment(ref _wakeUps);
        if (_wire.Ring(DoorbellByte) is { } why)
        {
            // The peer would sleep until its safety timeout, perhaps for many seconds: nothing rings for these records
            // again. The kernel tries hard to find memory before it fails, so another try here would come too soon.
            Close(new CloseReason(CloseKind.NoResources, $"The system cannot ring the peer's doorbell: {why}."));
        }
    }

    /// <summary>Takes the doorbells that have come. Returns whether there may be more.</summary>
    private bool ReceiveDoorbells(bool hasEnded, ref int rings)
    {
        Span<byte> buffer = stackalloc byte[DrainBytes];
        int count = Receive(buffer);
        if (count <= 0)
        {
            EndNotice();
            if (count == 0)
            {
                OnPeerGone();
            }

            return false;
        }

        ReadOnlySpan<byte> other = buffer[..count];
        while (!other.IsEmpty)
        {
            // Within a notice any byte may have the value of a doorbell.
            ReadOnlySpan<byte> rest = _noticeBytes == 0 ? other.TrimStart(DoorbellByte) : other;
            rings += other.Length - rest.Length;
            other = rest;
            if (!TryReceiveNotice(ref other))
            {
                _last = new HelloReceiver(_wire, mostHandles: 0, other);
                return false;
            }
        }

        return (hasEnded || count == DrainBytes || _wire.MustBeDrained) && !IsClosed;
    }

    private int Receive(Span<byte> buffer)
    {
        int received = _wire.Receive(buffer, _passed);
        return _passed.Count == 0 || TakesFiles || Handles is not null
            ? received
            : throw new ProtocolException("The peer passed a descriptor after the handshake.");
    }

    private void CountRings(int count)
    {
        if (count == 0)
        {
            return;
        }

        // Both positions only grow, so their sum is the same only if neither has changed.
        long at = Reader.Position + Writer.HeadHint + (PeerTopics?.Wakes ?? 0);
        _needlessRings = at == _rungAt ? _needlessRings + count : Math.Max(0, count - 2);
        _rungAt = at;
        RequireNeed(_needlessRings);
    }

    private static void RequireNeed(int rings)
    {
        if (rings > MostNeedlessRings)
        {
            throw new ProtocolException($"The peer rang {MostNeedlessRings} times without need.");
        }
    }

    private void OnLastMessage(Hello? last)
    {
        if (last is not { Type: HelloType.Refusal })
        {
            throw new ProtocolException("The peer sent a second hello.");
        }

        string reason = PeerText.Escape(last.RefusalText, PeerText.LongestSentence);
        if (last.RefusalReason is RefusalReason.Full or RefusalReason.Stopping)
        {
            _rejection = reason;
        }
        else
        {
            DeferredLog.Write(
                _logger, log => ShmLog.PeerComplained(log, ConnectionId, Identity.ToString(), reason));
        }
    }
}
