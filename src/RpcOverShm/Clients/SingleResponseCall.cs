using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Clients;

/// <summary>
/// A call with one response: unary, or with a stream of requests. Its response is awaited, or a thread blocks for it;
/// the message is read by whoever runs the call's work, or by the blocked thread. A thread that blocks uses one object
/// for call after call.
/// </summary>
internal sealed class SingleResponseCall<TResponse> : ClientCall
    where TResponse : class
{
    [ThreadStatic]
    private static SingleResponseCall<TResponse>? s_spare;

    private AnsweredMethod<TResponse> _method;
    private AsyncTaskMethodBuilder<TResponse> _response; // a promise without an object of its own
    private ReceivedMessage _message;      // a response that came with the end
    private InboundMessages? _inbound;  // a response that came in parts
    private TResponse? _result;
    private bool _isParsed; // the response was parsed where it lay in the ring

    /// <param name="method">The method.</param>
    /// <param name="waiter">The latch of the thread that blocks for the response; null where it is awaited.</param>
    public SingleResponseCall(AnsweredMethod<TResponse> method, AutoResetLatch? waiter)
    {
        _method = method;
        Waiter = waiter;
        if (waiter is null)
        {
            // Made before anybody else knows the call: the first use makes the task, and is not thread-safe.
            _ = _response.Task;
        }
    }

    public override string MethodName => _method.Name;

    /// <summary>Of a call that nobody blocks for.</summary>
    public Task<TResponse> ResponseAsync => _response.Task;

    protected override ClientSettings Settings => _method.Settings;

    /// <summary>A call for this thread to block for: the one that it used last, where that can be.</summary>
    public static SingleResponseCall<TResponse> ForThisThread(AnsweredMethod<TResponse> method)
    {
        SingleResponseCall<TResponse>? spare = s_spare;
        if (spare is null)
        {
            return new SingleResponseCall<TResponse>(method, AutoResetLatch.OfThisThread);
        }

        s_spare = null;
        spare._method = method;
        return spare;
    }

    /// <summary>
    /// The response of a call that a thread blocks for, once it is done. The call is not used afterwards.
    /// </summary>
    /// <exception cref="RpcException">The call has failed.</exception>
    public TResponse TakeResponse()
    {
        TakeServerOutcome();
        CallOutcome outcome = Outcome;
        if (!outcome.IsOk)
        {
            throw ToException(outcome);
        }

        TResponse result = _result!;
        if (IsPlain && IsAllSent && _inbound is null)
        {
            Reset();
            _result = null;
            s_spare = this;
        }

        return result;
    }

    public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (IsFinished)
        {
            return;
        }

        OnMessageBegun();
        _inbound ??= new InboundMessages(
            this,
            ReceiveLimit,
            Settings.CallWindow,
            isAlwaysRequested: true,
            HintOf<TResponse>());
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

    protected override void Start(object snapshot) => _method.Start(this, snapshot);

    protected override void Execute(PendingUserCode work)
    {
        TakeServerOutcome();
        if (!IsFinished || !TryComplete())
        {
            return;
        }

        CallOutcome outcome = Outcome;
        if (outcome.IsOk)
        {
            _response.SetResult(_result!);
        }
        else
        {
            _response.SetException(ToException(outcome));

            // The status tells the same: whoever only looks there is not to be punished with an unobserved exception.
            _ = _response.Task.Exception;
        }
    }

    // Nothing can replace the end of a private call, whose own thread settles it.
    protected override bool IsOutcome(CallOutcome end) => !end.IsOk && !IsPrivate;

    protected override void OnEnded(ReadOnlySpan<byte> message, bool hasMessage)
    {
        if (hasMessage && message.Length > ReceiveLimit)
        {
            Finish(StatusMapping.ReceivedTooLarge(message.Length, ReceiveLimit.Value), isCancel: false);
            return;
        }

        if (hasMessage && _inbound is not null)
        {
            Finish(StatusMapping.AdditionalMessage, isCancel: false);
            return;
        }

        if (hasMessage && Settings.AllowInPlaceParsing && ServerOutcome!.IsOk)
        {
            ParseInPlace(message);
        }
        else if (hasMessage)
        {
            _message = message.Length < ReceivedMessage.SmallestArrayBytes
                ? new ReceivedMessage(message)
                : ReceivedMessage.Of(message, HintOf<TResponse>());
        }

        if (Waiter is null)
        {
            AddUserCode(PendingUserCode.Complete);
        }
        else
        {
            SetDone();
        }
    }

    protected override void OnFinished()
    {
        base.OnFinished();
        _inbound?.Abort();
    }

    protected override void Reset()
    {
        base.Reset();
        _isParsed = false;
    }

    private void TakeServerOutcome()
    {
        // Nobody but the thread that blocks takes the end of its call.
        if (ServerOutcome is not { } end || (Waiter is null && !TryTakeServerOutcome()))
        {
            return;
        }

        if (end.IsOk && !IsFinished && ReadResponse() is { } problem)
        {
            end = end.With(problem);
        }

        _message.Release();
        TrySettle(end, isCancel: false);
    }

    private void ParseInPlace(ReadOnlySpan<byte> message)
    {
        _isParsed = true;
        KeepProblem(unreadable: null);
        try
        {
            _result = FrameDeserializationContext.DeserializeInPlace(Decoding(_method.ResponseMarshaller), message);
        }
        catch (Exception exception)
        {
            KeepProblem(exception);
        }
    }

    /// <summary>Null when the response was read, else what is wrong with it.</summary>
    private Status? ReadResponse()
    {
        if (_isParsed)
        {
            return Problem is { } problem ? StatusMapping.FromUnreadableResponse(problem) : Missing(_result);
        }

        ReceivedMessage bytes = _message;
        _message = default;
        if (bytes.IsEmpty && _inbound?.TryTake(out bytes) != true)
        {
            return Missing(response: null);
        }

        try
        {
            _result = FrameDeserializationContext.Deserialize(Decoding(_method.ResponseMarshaller), ref bytes);
            return Missing(_result);
        }
        catch (Exception exception)
        {
            return StatusMapping.FromUnreadableResponse(exception);
        }
    }

    /// <summary>Null when there is a response, else what is wrong with that.</summary>
    private static Status? Missing(TResponse? response) =>
        response is null ? new Status(StatusCode.Internal, StatusMapping.ResponseUnreadableDetail) : null;
}
