using System.Threading.Channels;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;

namespace RpcOverShm;

/// <summary>
/// Waits at an address for clients that connect with <see cref="ShmStream.ConnectAsync"/>, and hands out a stream for
/// each. One live listener or server holds an address; one that was killed is replaced at once by the next.
/// Thread-safe. Its owner disposes it; streams that were handed out live on.
/// </summary>
public sealed class ShmStreamListener : IAsyncDisposable
{
    // Connected clients that nobody has accepted yet; further ones are disconnected.
    private const int MaxWaiting = 128;

    private readonly RendezvousAddress _address;
    private readonly ConnectionSettings _settings;
    private readonly ILogger _logger;
    private readonly Lock _gate = new();
    private readonly Channel<ShmStream> _waiting = Channel.CreateBounded<ShmStream>(MaxWaiting);
    private Listener? _listener;
    private bool _isDisposed;

    /// <summary>Makes a listener. It does not listen yet.</summary>
    /// <param name="address"><c>shm://name</c> or <c>shm:///path</c>, as for <see cref="ShmServer"/>.</param>
    /// <param name="options">Settings; null for the defaults.</param>
    /// <exception cref="ArgumentException">
    /// The address or an option is not allowed; the message says what is.
    /// </exception>
    public ShmStreamListener(string address, ShmStreamOptions? options = null)
    {
        options ??= new ShmStreamOptions();
        _address = RendezvousAddress.Parse(address, options.RuntimeDirectory);
        _settings = OptionChecks.Stream<ShmStreamListener>(options);
        _logger = _settings.Logger;
    }

    /// <summary>The address as it was given.</summary>
    public string Address => _address.Text;

    /// <summary>Takes the address and listens from here on. Does not block.</summary>
    /// <exception cref="ShmTransportException">
    /// The address is held by a live server or listener
    /// (<see cref="ShmTransportError.AddressInUse"/>) or cannot be made.
    /// </exception>
    /// <exception cref="PlatformNotSupportedException">This system is not Linux.</exception>
    /// <exception cref="InvalidOperationException">The listener was started before.</exception>
    /// <exception cref="ObjectDisposedException">The listener was disposed.</exception>
    public void Start()
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
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

        ShmLog.Listening(_logger, _address.SocketPath, Address);
    }

    /// <summary>Waits for the next client and returns its stream, which the caller disposes.</summary>
    /// <param name="cancellationToken">Gives up waiting.</param>
    /// <exception cref="InvalidOperationException">The listener was not started.</exception>
    /// <exception cref="ObjectDisposedException">The listener was disposed, before or meanwhile.</exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async ValueTask<ShmStream> AcceptAsync(CancellationToken cancellationToken = default)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, this);
            if (_listener is null)
            {
                throw new InvalidOperationException($"The listener at {Address} was not started.");
            }
        }

        try
        {
            return await _waiting.Reader.ReadAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (ChannelClosedException)
        {
            throw new ObjectDisposedException(nameof(ShmStreamListener));
        }
    }

    /// <summary>
    /// Stops listening and removes the address's files. Clients that nobody has accepted are disconnected.
    /// </summary>
    public async ValueTask DisposeAsync()
    {
        Listener? listener;
        lock (_gate)
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
            ShmLog.StoppedListening(_logger, _address.SocketPath, Address);
        }

        while (_waiting.Reader.TryRead(out ShmStream? stream))
        {
            await stream.DisposeAsync().ConfigureAwait(false);
        }
    }

    private void OnConnected(PeerLink link)
    {
        var stream = new ShmStream(link);
        if (!_waiting.Writer.TryWrite(stream))
        {
            ShmLog.StreamNotAccepted(_logger, Address, MaxWaiting);
            stream.Dispose();
        }
    }
}
