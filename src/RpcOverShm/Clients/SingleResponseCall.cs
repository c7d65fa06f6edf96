using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// A call with one response: unary, or with a stream of requests. Its response is awaited, or a thread blocks for it;
/// the message is read by whoever runs the call's work, or by the blocked thread. A thread that blocks uses one object
/// for call after call.
/// </summary>
internal sealed class SingleResponseCall<TResponse> : RenewableCall
    where TResponse : class
{
    [ThreadStatic]
    private static SingleResponseCall<TResponse>? s_spare;

    private AnsweredMethod<TResponse> _method;
    private AsyncTaskMethodBuilder<TResponse> _response; // a promise without an object of its own
    private MessageBytes _message;      // a response that came with the end
    private InboundMessages? _inbound;  // a response that came in parts
    private TResponse? _result;

    /// <param name="method">The method.</param>
    /// <param name="waiter">The latch of the thread that blocks for the response; null where it is awaited.</param>
    public SingleResponseCall(AnsweredMethod<TResponse> method, WakeLatch? waiter)
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

    /// <summary>True when a response was parsed where it lay in the ring.</summary>
    private bool IsParsed
    {
        get => (Notes & CallNotes.IsParsed) != 0;
        set => Note(CallNotes.IsParsed, value);
    }

    /// <summary>A call for this thread to block for: the one that it used last, where that can be.</summary>
    public static SingleResponseCall<TResponse> ForThisThread(AnsweredMethod<TResponse> method)
    {
        SingleResponseCall<TResponse>? spare = s_spare;
        if (spare is null)
        {
            return new SingleResponseCall<TResponse>(method, WakeLatch.OfThisThread);
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
        TakeEnd();
        CallEnd outcome = Outcome;
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

        NoteMessage();
        _inbound ??= new InboundMessages(
            this,
            ReceiveLimit,
            Settings.CallWindow,
            isAlwaysWanted: true,
            HabitOf<TResponse>());
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

    protected override void Start(object origin) => _method.Start(this, origin);

    protected override void Execute(CallWork work)
    {
        TakeEnd();
        if (!IsFinished || !TryComplete())
        {
            return;
        }

        CallEnd outcome = Outcome;
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
    protected override bool IsOutcome(CallEnd end) => !end.IsOk && !IsPrivate;

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

        if (hasMessage && Settings.ParsesInPlace && End!.IsOk)
        {
            ParseInPlace(message);
        }
        else if (hasMessage)
        {
            _message = message.Length < MessageBytes.SmallestArrayBytes
                ? new MessageBytes(message)
                : MessageBytes.Of(message, HabitOf<TResponse>());
        }

        if (Waiter is null)
        {
            AddWork(CallWork.Complete);
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
        IsParsed = false;
    }

    private void TakeEnd()
    {
        // Nobody but the thread that blocks takes the end of its call.
        if (End is not { } end || (Waiter is null && !TryTakeEnd()))
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
        IsParsed = true;
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
        if (IsParsed)
        {
            return Problem is { } problem ? StatusMapping.FromUnreadableResponse(problem) : Missing(_result);
        }

        MessageBytes bytes = _message;
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
