using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// A call with one response: unary, or with a stream of requests. Its response is awaited, or a thread blocks for it;
/// the message is read by whoever completes the call, on the thread pool or in the blocked thread.
/// </summary>
internal sealed class SingleResponseCall<TResponse> : ClientCall
    where TResponse : class
{
    private readonly Marshaller<TResponse> _marshaller;
    private readonly TaskCompletionSource<TResponse>? _response;
    private MessageBytes _message;      // a response that came with the end
    private bool _hasMessage;
    private InboundMessages? _inbound;  // a response that came in parts
    private TResponse? _result;
    private int _isEndTaken;

    /// <param name="settings">The channel's.</param>
    /// <param name="methodName">For logging.</param>
    /// <param name="options">The call's.</param>
    /// <param name="marshaller">Reads the response.</param>
    /// <param name="waiter">The latch of the thread that blocks for the response; null where it is awaited.</param>
    public SingleResponseCall(
        ClientSettings settings,
        string methodName,
        in CallOptions options,
        Marshaller<TResponse> marshaller,
        WakeLatch? waiter)
        : base(settings, methodName, options)
    {
        _marshaller = marshaller;
        Waiter = waiter;
        _response = waiter is null ? new TaskCompletionSource<TResponse>() : null;
    }

    public Task<TResponse> ResponseAsync => _response!.Task;

    /// <summary>The response of a call that a thread blocks for, once it is done.</summary>
    /// <exception cref="RpcException">The call has failed.</exception>
    public TResponse TakeResponse()
    {
        TakeEnd();
        return Status.StatusCode == StatusCode.OK ? _result! : throw ToException();
    }

    public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (IsFinished)
        {
            return;
        }

        NoteAnswer();
        _inbound ??= new InboundMessages(
            Settings.MaxReceiveMessageBytes,
            Settings.CallWindow,
            isAlwaysWanted: true,
            bytes => Connection!.SendCredit(this, bytes));
        if (_inbound.Add(wholeLength, bytes, flags) is { } problem)
        {
            Finish(problem, isCancel: true);
        }
    }

    public override void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (IsFinished)
        {
            return;
        }

        if (_inbound is null)
        {
            throw new ProtocolException("A part of a message that has not begun.");
        }

        _inbound.AddChunk(bytes, flags);
    }

    public override void Execute()
    {
        TakeEnd();

        if (!IsFinished)
        {
            return;
        }

        if (Status.StatusCode == StatusCode.OK)
        {
            _response!.TrySetResult(_result!);
        }
        else
        {
            _response!.TrySetException(ToException());

            // The status tells the same: whoever only looks there is not to be punished with an unobserved exception.
            _ = _response.Task.Exception;
        }
    }

    protected override void OnEnded(ReadOnlySpan<byte> message, bool hasMessage)
    {
        if (hasMessage && message.Length > Settings.MaxReceiveMessageBytes)
        {
            Finish(StatusMapping.ReceivedTooLarge, isCancel: false);
            return;
        }

        if (hasMessage && _inbound is not null)
        {
            Finish(StatusMapping.AdditionalMessage, isCancel: false);
            return;
        }

        if (hasMessage)
        {
            _hasMessage = true;
            _message = new MessageBytes(message);
        }

        if (Waiter is null)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
        else
        {
            SetDone();
        }
    }

    protected override void OnFinished() => _inbound?.Abort();

    private void TakeEnd()
    {
        if (!HasEnded || Interlocked.Exchange(ref _isEndTaken, 1) != 0)
        {
            return;
        }

        Status status = EndStatus;
        if (status.StatusCode == StatusCode.OK && !IsFinished)
        {
            status = ReadResponse();
        }

        _message.Release();
        TrySettleAsEnded(status);
    }

    private Status ReadResponse()
    {
        MessageBytes bytes = _message;
        _message = default;
        if (!_hasMessage && _inbound?.TryTake(out bytes) != true)
        {
            return new Status(StatusCode.Internal, StatusMapping.ResponseUnreadableDetail);
        }

        try
        {
            _result = FrameDeserializationContext.Deserialize(_marshaller, ref bytes);
            return EndStatus;
        }
        catch (Exception exception)
        {
            return StatusMapping.FromUnreadableResponse(exception);
        }
    }
}
