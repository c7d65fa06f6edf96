using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>
/// Queues the requests of one call, and decides when its method begins. The holder of the reader role adds the
/// requests; the method takes them.
/// </summary>
internal sealed class RequestMessages
{
    private readonly bool _isStream;
    private volatile bool _isAborted;
    private bool _wasAtEnd;      // at the time of the abort
    private int _isStartClaimed; // 1 once a thread starts the method, or releases the call

    public RequestMessages(MethodHandler handler, ServerSettings settings, ServerCall call, BufferBudget? budget)
    {
        _isStream = handler.IsRequestStream;
        Inbound = new InboundMessages(
            call,
            MessageEncoding.WireLimit(settings.MaxReceiveMessageBytes, call.RequestMark),
            settings.Side,
            settings.CallWindow,
            isAlwaysRequested: !_isStream,
            handler.RequestHint(call.RequestMark),
            budget);
    }

    public InboundMessages Inbound { get; }

    /// <summary>
    /// Handles the message and the flags of the first frame; that message needs no credit. Returns the status that ends
    /// the call because of the message; null for none.
    /// </summary>
    public Status? AddFirst(ReadOnlySpan<byte> message, FrameFlags flags)
    {
        if ((flags & FrameFlags.HasMessage) != 0)
        {
            return Inbound.Add((uint)message.Length, message, FrameFlags.Single | (flags & FrameFlags.HalfClose));
        }

        if ((flags & FrameFlags.HalfClose) != 0)
        {
            Inbound.End();
        }

        return null;
    }

    /// <summary>Whether the client half-closed and all requests were taken before the call ended.</summary>
    public bool IsReadToEnd
    {
        get
        {
            // Read before _isAborted: an abort drops the requests, which looks like an end too.
            bool isAtEnd = Inbound.IsAtEnd;
            return _isAborted ? _wasAtEnd : isAtEnd;
        }
    }

    /// <summary>
    /// Returns true once, to the caller that must start the method, or release the call if it has ended. A method with
    /// a stream of requests starts at once, any other at the half-close: that costs one thread switch for a large
    /// request instead of two. If the call has ended, the method does not wait for requests, and the received ones are
    /// dropped.
    /// </summary>
    public bool TryClaimStart(bool isEnded)
    {
        if (Volatile.Read(ref _isStartClaimed) != 0 || !(_isStream || isEnded || Inbound.IsEnded))
        {
            return false;
        }

        if (isEnded)
        {
            // The thread that ended the call may not have seen these messages. The method finds the call ended and
            // reads none.
            Inbound.Abort();
        }

        return Interlocked.Exchange(ref _isStartClaimed, 1) == 0;
    }

    /// <summary>
    /// Takes the single request of a call without a request stream, after the half-close. A second request would have
    /// ended the call.
    /// </summary>
    /// <exception cref="RpcException">The client sent no request.</exception>
    public ReceivedMessage TakeSingle() => Inbound.TryTake(out ReceivedMessage bytes)
        ? bytes
        : throw new RpcException(new Status(StatusCode.Internal, StatusMapping.IncompleteMessageDetail));

    /// <summary>Drops the requests, and later ones.</summary>
    public void Abort()
    {
        if (!_isAborted)
        {
            _wasAtEnd = Inbound.IsAtEnd;
            _isAborted = true;
        }

        Inbound.Abort();
    }
}
