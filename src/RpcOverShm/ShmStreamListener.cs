using System.Threading.Channels;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>
/// A listener that accepts clients of <see cref="ShmStream.ConnectAsync"/> and returns a stream for each.
/// </summary>
/// <remarks>
/// <para>
/// One live listener or server holds an address; if it was killed, the next one takes the address over at once.
/// Connected clients wait to be accepted, up to <see cref="ShmStreamListenerOptions.MaxWaitingStreams"/>.
/// </para>
/// <para>
/// Thread-safe. The code that creates a listener disposes it; accepted streams stay open. Once started, a listener runs
/// until then, even if nothing refers to it.
/// </para>
/// </remarks>
public sealed class ShmStreamListener : IAsyncDisposable
{
    private const string StoppedText = "The listener stopped before it accepted this stream.";

    private readonly RendezvousAddress _address;
    private readonly ConnectionSettings _settings;
    private readonly ILogger _logger;
    private readonly UninterruptibleLock _lock = new();

    // One client arrives at a time: only accepting makes room meanwhile.
    private readonly UninterruptibleLock _arrival = new();

    private readonly int _maxWaiting;
    private readonly Channel<ShmStream> _waiting;
    private readonly UserShares _shares; // of the waiting streams; guarded by _arrival
    private Listener? _listener;
    private volatile bool _isDisposed;

    /// <summary>Creates a listener that does not listen yet.</summary>
    /// <param name="address"><c>shm://name</c> or <c>shm:///path</c>, as for <see cref="ShmServer"/>.</param>
    /// <param name="options">The settings; null for the defaults.</param>
    /// <exception cref="ArgumentNullException">The address is null.</exception>
    /// <exception cref="ArgumentException">
    /// The address or an option is invalid; the message says what is allowed.
    /// </exception>
    public ShmStreamListener(string address, ShmStreamListenerOptions? options = null)
    {
        options ??= new ShmStreamListenerOptions();
        _address = options.Listen.Parse(address);
        _settings = options.ToConnectionSettings(_address);
        _logger = _settings.Logger;
        _maxWaiting = options.MaxWaitingStreams;
        _waiting = Channel.CreateBounded<ShmStream>(_maxWaiting);
        _shares = new UserShares(UserShares.HalfOf(_maxWaiting));
    }

    /// <summary>Gets the address that was passed to the constructor.</summary>
    public string Address => _address.Text;

    /// <summary>The number of waiting clients that have left, for tests.</summary>
    internal int WaitingOver
    {
        get
        {
            using (_arrival.Enter())
            {
                var dead = new List<ShmStream>();
                TakeDead(dead);
                dead.ForEach(stream => _waiting.Writer.TryWrite(stream));
                return dead.Count;
            }
        }
    }

    /// <summary>Takes the address and starts to listen; does not block.</summary>
    /// <exception cref="ShmTransportException">
    /// A live server or listener holds the address (<see cref="ShmTransportError.AddressInUse"/>), or the address
    /// cannot be created.
    /// </exception>
    /// <exception cref="PlatformNotSupportedException">The system is not Linux.</exception>
    /// <exception cref="InvalidOperationException">The listener was already started.</exception>
    /// <exception cref="ObjectDisposedException">The listener was disposed.</exception>
    public void Start()
    {
        using (_lock.Enter())
        {
            if (_isDisposed)
            {
                throw Disposed();
            }

            if (_listener is not null)
            {
                throw new InvalidOperationException(
                    $"The listener at {Address} was started already; a listener is started once.");
            }

            try
            {
                _listener = Listener.Start(_address, _settings, OnConnected);
            }
            catch (ConnectException exception)
            {
                throw new ShmTransportException(exception);
            }
        }

        ShmLog.Listening(_logger, _listener.Place, Address);
    }

    /// <summary>Waits for the next client.</summary>
    /// <param name="cancellationToken">Stops waiting.</param>
    /// <returns>The stream to the client, which the caller disposes.</returns>
    /// <exception cref="InvalidOperationException">The listener was not started.</exception>
    /// <exception cref="ObjectDisposedException">The listener was disposed, before or during the wait.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async ValueTask<ShmStream> AcceptAsync(CancellationToken cancellationToken = default)
    {
        using (_lock.Enter())
        {
            if (_isDisposed)
            {
                throw Disposed();
            }

            if (_listener is null)
            {
                throw new InvalidOperationException(
                    $"The listener at {Address} was not started; call Start before AcceptAsync.");
            }
        }

        try
        {
            ShmStream stream = await _waiting.Reader.ReadAsync(cancellationToken).ConfigureAwait(false);
            using (_arrival.Enter())
            {
                _shares.GiveBack(stream.Inside.Peer);
            }

            return stream;
        }
        catch (ChannelClosedException)
        {
            throw Disposed();
        }
    }

    /// <summary>
    /// Stops listening, removes the files of the address, and disconnects the clients that were not accepted; their
    /// reads and writes then throw <see cref="IOException"/>.
    /// </summary>
    public async ValueTask DisposeAsync()
    {
        Listener? listener;
        using (_lock.Enter())
        {
            if (_isDisposed)
            {
                return;
            }

            _isDisposed = true;
            listener = _listener;
        }

        _waiting.Writer.TryComplete();
        if (listener is not null)
        {
            await listener.DisposeAsync().ConfigureAwait(false);
            ShmLog.StoppedListening(_logger, listener.Place, Address);
        }

        while (_waiting.Reader.TryRead(out ShmStream? stream))
        {
            stream.Inside.Reject(RefusalReason.Stopping, StoppedText);
        }
    }

    private ObjectDisposedException Disposed() => new(
        typeof(ShmStreamListener).FullName,
        $"The listener at {Address} was disposed, and a listener is started once. Create another ShmStreamListener.");

    private void OnConnected(PeerLink link)
    {
        var stream = new ShmStream(link);
        List<ShmStream> dropped = [];
        string? problem;
        using (_arrival.Enter())
        {
            problem = TryLetWait(stream);
            if (problem is not null)
            {
                TakeDead(dropped);
                dropped.ForEach(dead => _shares.GiveBack(dead.Inside.Peer));
                problem = dropped.Count > 0 ? TryLetWait(stream) : problem;
            }
        }

        dropped.ForEach(dead => dead.Dispose());
        if (problem is null)
        {
            return;
        }

        const string Option = nameof(ShmStreamListenerOptions.MaxWaitingStreams);
        (RefusalReason Reason, string Text) refusal = (RefusalReason.Stopping, StoppedText);
        if (!_isDisposed)
        {
            LimitEvents.Reached(_logger, Option, _maxWaiting, $"a client at {Address} was disconnected.");
            refusal = (RefusalReason.Full, $"{problem} wait to be accepted. Connect again later, or raise {Option}.");
        }

        // Not on the loop of the doors, because a close runs the user's logger.
        PoolWork.Queue(
            static late => late.Stream.Inside.Reject(late.Refusal.Reason, late.Refusal.Text),
            (Stream: stream, Refusal: refusal));
    }

    // Under the lock. Returns null on success, else what is full, as the beginning of a sentence.
    private string? TryLetWait(ShmStream stream)
    {
        const string Option = nameof(ShmStreamListenerOptions.MaxWaitingStreams);
        PeerIdentity client = stream.Inside.Peer;
        if (!_shares.TryTake(client))
        {
            return $"{_shares.Most} streams of user {client.User}, half of {Option} = {_maxWaiting},";
        }

        if (_waiting.Writer.TryWrite(stream))
        {
            return null;
        }

        _shares.GiveBack(client);
        return $"{Option} = {_maxWaiting} streams";
    }

    // Goes round all that wait, so that their order stays. After the end of the listener nothing can be put back.
    private void TakeDead(List<ShmStream> dead)
    {
        for (int left = _waiting.Reader.Count; left > 0 && _waiting.Reader.TryRead(out ShmStream? stream); left--)
        {
            if (stream.Inside.IsOver || !_waiting.Writer.TryWrite(stream))
            {
                dead.Add(stream);
            }
        }
    }
}
