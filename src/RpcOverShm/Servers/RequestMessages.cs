using System.Runtime.ExceptionServices;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>
/// The requests of one call: one that may come in the first frame, and later ones. The holder of the reader role adds
/// them, the method takes them.
/// </summary>
internal sealed class RequestMessages
{
    private readonly InboundMessages? _inbound;
    private readonly bool _isStream;
    private ReceivedMessage _first;
    private volatile bool _hasFirst;
    private volatile bool _isAborted;
    private bool _wasAtEnd; // at the time of the abort
    private int _hasBegun;  // 1 once a thread runs the method

    /// <summary>Takes the message and the flags of the first frame.</summary>
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

    /// <summary>Whether the client half-closed and all requests were taken before the call ended.</summary>
    public bool IsReadToEnd
    {
        get
        {
            // Read before _isAborted: an abort drops the requests, which looks like an end too.
            bool isAtEnd = IsAtEnd;
            return _isAborted ? _wasAtEnd : isAtEnd;
        }
    }

    /// <summary>The receiver of the messages after the first frame.</summary>
    /// <exception cref="ProtocolException">The client half-closed in the first frame.</exception>
    public InboundMessages Inbound => _inbound ?? throw new ProtocolException("A message after the end of messages.");

    /// <summary>
    /// Returns true once, to the caller that must begin the method: at once for a stream of requests, else when the
    /// single request is complete. Waiting for a large request this way costs one thread switch instead of two, and the
    /// method cannot tell the difference.
    /// </summary>
    /// <param name="isEnded">
    /// Whether the call has ended. The method then does not wait for requests, and the received ones are dropped.
    /// </param>
    public bool TryBegin(bool isEnded)
    {
        if (Volatile.Read(ref _hasBegun) != 0 || !(_isStream || isEnded || _inbound is null || _inbound.IsEnded))
        {
            return false;
        }

        if (isEnded)
        {
            // The thread that ended the call may not have seen these messages. The method finds the call ended and
            // reads none.
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

    /// <summary>Completes when there is a request to take or none follows.</summary>
    public ValueTask WaitAsync(CancellationToken cancellationToken) =>
        _hasFirst || _inbound is null ? ValueTask.CompletedTask : _inbound.WaitAsync(cancellationToken);

    /// <summary>
    /// Takes the single request of a call without a request stream, after the half-close. A second request would have
    /// ended the call.
    /// </summary>
    /// <exception cref="RpcException">The client sent no request.</exception>
    public ReceivedMessage TakeSingle() => TryTake(out ReceivedMessage bytes)
        ? bytes
        : throw new RpcException(new Status(StatusCode.Internal, StatusMapping.IncompleteMessageDetail));

    /// <summary>Releases the request of the first frame, unless it was taken.</summary>
    public void ReleaseFirst()
    {
        if (TryClaimFirst())
        {
            _first.Release();
        }
    }

    /// <summary>Completes the wait of a reader. See <see cref="InboundMessages.CompleteWait"/>.</summary>
    public void CompleteWait() => _inbound?.CompleteWait();

    /// <summary>Drops the requests that arrived after the first frame, and later ones.</summary>
    public void Abort()
    {
        if (!_isAborted)
        {
            _wasAtEnd = IsAtEnd;
            _isAborted = true;
        }

        _inbound?.Abort();
    }

    // A method that has ended may have left a read behind. Only one of the read and the release gets the bytes.
    private bool TryClaimFirst() => _hasFirst && Interlocked.Exchange(ref _hasFirst, false);
}

/// <summary>A request that was parsed in place, before its method runs.</summary>
/// <param name="Value">The request; null if the marshaller threw.</param>
/// <param name="Failure">The exception of the marshaller, thrown in place of running the method; null for none.</param>
internal sealed record ParsedMessage(object? Value, ExceptionDispatchInfo? Failure);
