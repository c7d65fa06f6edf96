using System.Runtime.ExceptionServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>
/// The requests of one call: one that may have come with the first frame, and those that come by themselves. The holder
/// of the reader role adds, the method takes.
/// </summary>
internal sealed class RequestMessages
{
    private readonly InboundMessages? _inbound;
    private readonly bool _isStream;
    private ReceivedMessage _first;
    private volatile bool _hasFirst;
    private volatile bool _isAborted;
    private bool _wasAtEnd; // when it was aborted
    private int _hasBegun;  // 1 once somebody runs the method

    /// <param name="message">The request in the first frame.</param>
    /// <param name="flags">The flags of the first frame.</param>
    /// <param name="handler">Of the method.</param>
    /// <param name="settings">The server's.</param>
    /// <param name="call">The call.</param>
    public RequestMessages(
        ReadOnlySpan<byte> message,
        FrameFlags flags,
        MethodHandler handler,
        ServerSettings settings,
        ServerCall call)
    {
        _hasFirst = (flags & FrameFlags.HasMessage) != 0;
        PayloadAccessHint hint = handler.RequestHint(call.RequestEncoding);
        _first = _hasFirst ? ReceivedMessage.Of(message, hint) : default;
        bool isHalfClosed = (flags & FrameFlags.HalfClose) != 0;
        if (!isHalfClosed)
        {
            _isStream = handler.IsRequestStream;
            _inbound = new InboundMessages(
                call,
                MessageEncoding.WireLimit(settings.MaxReceiveMessageBytes, call.RequestEncoding is not null),
                settings.CallWindow,
                isAlwaysRequested: !_isStream,
                hint);
        }
    }

    public bool IsAtEnd => !_hasFirst && (_inbound is null || _inbound.IsAtEnd);

    /// <summary>True when the client has half-closed and all was taken, unless the call was ended before.</summary>
    public bool IsReadToEnd
    {
        get
        {
            // In this order: what is dropped with the call looks like an end too.
            bool isAtEnd = IsAtEnd;
            return _isAborted ? _wasAtEnd : isAtEnd;
        }
    }

    /// <summary>Where further messages go.</summary>
    /// <exception cref="ProtocolException">No further messages may come.</exception>
    public InboundMessages Inbound => _inbound ?? throw new ProtocolException("A message after the end of messages.");

    /// <summary>
    /// True once, for whoever has the method begin: at once where its requests are a stream, else when the one is
    /// complete. Nobody can tell the difference, and a large request then costs one hop to the method's thread instead
    /// of two.
    /// </summary>
    /// <param name="isEnded">
    /// True when the call has ended: the method is not to wait for what may never come, and nothing of that is kept.
    /// </param>
    public bool TryBegin(bool isEnded)
    {
        if (Volatile.Read(ref _hasBegun) != 0 || !(_isStream || isEnded || _inbound is null || _inbound.IsEnded))
        {
            return false;
        }

        if (isEnded)
        {
            // Whoever has ended the call may not have seen these yet. The method, which finds it ended, reads nothing.
            _inbound?.Abort();
        }

        return Interlocked.Exchange(ref _hasBegun, 1) == 0;
    }

    public bool TryTake(out ReceivedMessage bytes)
    {
        if (TryClaimFirst())
        {
            bytes = _first;
            _first = default;
            return true;
        }

        bytes = default;
        return _inbound is not null && _inbound.TryTake(out bytes);
    }

    /// <summary>Completes when there is something to take or nothing follows.</summary>
    public ValueTask WaitAsync(CancellationToken cancellationToken) =>
        _hasFirst || _inbound is null ? ValueTask.CompletedTask : _inbound.WaitAsync(cancellationToken);

    /// <summary>
    /// The one request of a call that has no stream of them, once the client has half-closed. A second one has ended
    /// the call before.
    /// </summary>
    /// <exception cref="RpcException">There is none.</exception>
    public ReceivedMessage TakeSingle() => TryTake(out ReceivedMessage bytes)
        ? bytes
        : throw new RpcException(new Status(StatusCode.Internal, StatusMapping.IncompleteMessageDetail));

    /// <summary>Drops what was not taken.</summary>
    public void ReleaseFirst()
    {
        if (TryClaimFirst())
        {
            _first.Release();
        }
    }

    /// <summary>
    /// Completes the wait of a reader that may go on; see <see cref="InboundMessages.CompleteWait"/>.
    /// </summary>
    public void CompleteWait() => _inbound?.CompleteWait();

    /// <summary>Drops what waits and what still comes.</summary>
    public void Abort()
    {
        if (!_isAborted)
        {
            _wasAtEnd = IsAtEnd;
            _isAborted = true;
        }

        _inbound?.Abort();
    }

    // A method that has ended may have left a read behind: the bytes are its or the pool's, and never both's.
    private bool TryClaimFirst() => _hasFirst && Interlocked.Exchange(ref _hasFirst, false);
}

/// <summary>A request that was parsed where it lay, before its method runs.</summary>
/// <param name="Value">The request, whatever its marshaller made.</param>
/// <param name="Failure">What the marshaller threw instead, to be thrown where the method would run.</param>
internal sealed record ParsedMessage(object? Value, ExceptionDispatchInfo? Failure);
