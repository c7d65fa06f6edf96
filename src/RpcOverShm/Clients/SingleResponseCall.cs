using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// A call with one response: unary, or with a stream of requests; awaited or blocking. The response is deserialised by
/// the thread that runs the pending user code of the call, or by the blocked thread. A thread reuses one object for its
/// blocking calls. A one-way call completes with an empty response when its request is sent.
/// </summary>
internal sealed class SingleResponseCall<TResponse> : ClientCall
    where TResponse : class
{
    [ThreadStatic]
    private static SingleResponseCall<TResponse>? s_spare;

    private ResponseMethod<TResponse> _method;
    private AsyncTaskMethodBuilder<TResponse> _response; // a task source that is not a separate object
    private ReceivedMessage _message;    // a response in the End frame
    private InboundMessages? _inbound;   // a response in frames of its own
    private TResponse? _result;

    public SingleResponseCall(ResponseMethod<TResponse> method, AutoResetLatch? latch)
    {
        _method = method;
        Latch = latch;
        if (latch is null)
        {
            // The first use creates the task and is not thread-safe, so it comes before other threads know the call.
            _ = _response.Task;
        }
    }

    public override string MethodName => _method.Name;

    /// <summary>The response of an awaited call.</summary>
    public Task<TResponse> ResponseAsync => _response.Task;

    /// <summary>
    /// Returns the task of the response for the user. If the awaiting method yields its service instance meanwhile, the
    /// task completes only after the method has entered the instance again.
    /// </summary>
    /// <param name="waits">Whether the method waits from now on; false: from the half-close on.</param>
    public Task<TResponse> PresentResponse(bool waits)
    {
        if (YieldingParent is not { } parent)
        {
            return ResponseAsync;
        }

        if (waits)
        {
            parent.YieldInstance();
        }

        return parent.ReenterAfterAsync(ResponseAsync);
    }

    public override Task OnHalfClosedAsync()
    {
        if (YieldingParent is not { } parent)
        {
            return Task.CompletedTask;
        }

        parent.YieldInstance();

        // If the response came first, its continuation ran before the yield and did not enter again.
        return ResponseAsync.IsCompleted ? parent.ReenterInstanceAsync() : Task.CompletedTask;
    }

    protected override ClientSettings Settings => _method.Settings;

    /// <summary>Returns a blocking call for this thread; reuses its last one if that is free.</summary>
    public static SingleResponseCall<TResponse> ForThisThread(ResponseMethod<TResponse> method)
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

    /// <summary>Returns the response of a blocking call that is done. The caller must not use the call again.</summary>
    /// <exception cref="RpcException">The call has failed.</exception>
    public TResponse TakeResponse()
    {
        if (IsOneWay)
        {
            return TakeEmptyResponse();
        }

        TakeServerOutcome();
        CallOutcome outcome = Outcome;
        if (!outcome.IsOk)
        {
            throw ToException(outcome);
        }

        TResponse result = _result!;
        if (IsUnreferenced && IsRequestKnownComplete && !HasCallback && _inbound is null)
        {
            Reset();
            _result = null;
            _method = null!; // the method keeps its channel alive, and this thread's next call may be far away
            s_spare = this;
        }

        return result;
    }

    /// <summary>
    /// Cancels a blocking call whose thread stops waiting because of an exception, such as an interrupt.
    /// </summary>
    public void CancelBlocking()
    {
        Cancel(CancellationToken.None);
        if (!IsOneWay && TryTakeEnd())
        {
            ReleaseResponse(); // The user never gets it.
        }
    }

    public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (IsFinished)
        {
            return;
        }

        if (BeginInbound().Add(wholeLength, bytes, flags) is { } problem)
        {
            Finish(problem, isCancel: true);
        }
    }

    public override void OnLoanedMessage(ReceivedMessage message, int recordBytes, FrameFlags flags)
    {
        if (IsFinished)
        {
            message.Release();
        }
        else
        {
            InboundMessages inbound = BeginInbound();
            Status? problem = inbound.AddLoaned(message, recordBytes, flags);

            // StoreLoad: a thread that ends the call stores the outcome and then looks for messages to abort. One of
            // the two finds this one, which would otherwise stay with the peer as lent.
            Interlocked.MemoryBarrier();
            if (IsFinished)
            {
                inbound.Abort();
            }
            else if (problem is not null)
            {
                Finish(problem.Value, isCancel: true);
            }
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
            throw new ProtocolException($"The peer sent a part of a message of call {Id} that has not begun.");
        }

        // Only a budget refuses a chunk, and the messages of a client have none.
        _ = _inbound.AddChunk(bytes, flags);
    }

    protected override void Start(object snapshot) => _method.Start(this, snapshot);

    protected override void Execute(PendingUserCode userCode)
    {
        if (IsOneWay)
        {
            ExecuteOneWay();
            return;
        }

        TakeServerOutcome();
        if (!IsFinished || !TryComplete())
        {
            return;
        }

        EndObservation();
        Complete(_result);
    }

    private InboundMessages BeginInbound()
    {
        OnMessageBegun();
        return _inbound ??= new InboundMessages(
            this,
            ReceiveLimit,
            Settings.Side,
            Settings.CallWindow,
            isAlwaysRequested: true,
            GetAccessHint<TResponse>());
    }

    private TResponse TakeEmptyResponse()
    {
        SettleIfSent();
        _ = TryComplete(); // Nobody awaits it.
        ReleaseCancellation();
        ClearLatch();
        return Outcome.IsOk ? _method.CreateEmptyResponse()! : throw ToException(Outcome);
    }

    private void ExecuteOneWay()
    {
        SettleIfSent();
        CompleteOneWay();
        if (TryTakeEnd())
        {
            ReportFailure(_method.Method);
        }
    }

    protected override void CompleteOneWay()
    {
        if (IsFinished && TryComplete())
        {
            ReleaseCancellation();
            Complete(Outcome.IsOk ? _method.CreateEmptyResponse() : null);
        }
    }

    private void Complete(TResponse? response)
    {
        CallOutcome outcome = Outcome;
        if (outcome.IsOk)
        {
            _response.SetResult(response!);
            return;
        }

        _response.SetException(ToException(outcome));

        // Marks the exception as observed: the user may check the call's status only.
        _ = _response.Task.Exception;
    }

    // A success waits until its response is read. If only the server ends the call, its own thread settles the end.
    protected override bool EndsAtOnce(CallOutcome end) => !end.IsOk && !IsUncancellable;

    protected override void OnEnded(ReadOnlySpan<byte> message, bool hasMessage)
    {
        if (hasMessage && message.Length > ReceiveLimit)
        {
            Finish(StatusMapping.ReceivedTooLarge(message.Length, ReceiveLimit.Value, Settings.Side), isCancel: false);
            return;
        }

        if (hasMessage && _inbound is not null)
        {
            Finish(StatusMapping.AdditionalMessage, isCancel: false);
            return;
        }

        if (hasMessage)
        {
            _message = message.Length < ReceivedMessage.SmallestArrayBytes
                ? new ReceivedMessage(message)
                : ReceivedMessage.Of(message, GetAccessHint<TResponse>());
        }

        DeliverEnd();
    }

    protected override void OnFinished()
    {
        base.OnFinished();
        _inbound?.Abort();
    }

    /// <summary>Delivers the End and its response to the user code or to the blocked thread.</summary>
    private void DeliverEnd()
    {
        if (Latch is null)
        {
            MarkEndStored();
            AddUserCode(PendingUserCode.Complete);
            return;
        }

        MarkEndStored();
        if (!IsUncancellable)
        {
            // StoreLoad: this thread stores the mark and then reads the outcome. A thread that ends the call stores the
            // outcome; then the blocked thread, in TakeResponse or in CancelBlocking, reads the mark. So one of the two
            // releases the response.
            Interlocked.MemoryBarrier();
            if (IsFinished && TryTakeEnd())
            {
                ReleaseResponse();
            }
        }

        EndWait();
    }

    private void TakeServerOutcome()
    {
        // The call may have ended for its user while another thread is still storing the response.
        if (IsUncancellable ? !IsEndStored : !TryTakeEnd())
        {
            return;
        }

        CallOutcome end = ServerOutcome!;
        if (end.IsOk && !IsFinished && ReadResponse() is { } problem)
        {
            end = end.With(problem);
        }

        if (TrySettle(end, isCancel: false, isAlone: IsUncancellable))
        {
            _message.Release();
        }
        else
        {
            // The call was cancelled before or while the response was read: the user never gets it.
            ReleaseResponse();
        }
    }

    private void ReleaseResponse()
    {
        _message.Release();
        (_result as IPooledMessage)?.Dispose();
        Settings.WithoutCodec?.Release(_result);
        _result = null;
    }

    /// <summary>Reads the response. Returns null, or the status of a response that is missing or unreadable.</summary>
    private Status? ReadResponse()
    {
        ReceivedMessage bytes = _message;
        _message = default;
        if (bytes.IsEmpty && _inbound?.TryTake(out bytes) != true)
        {
            return GetMissingStatus(response: null);
        }

        try
        {
            _result = FrameDeserializationContext.Deserialize(WithDecoding(_method.ResponseMarshaller), ref bytes);
            return GetMissingStatus(_result);
        }
        catch (Exception exception)
        {
            return StatusMapping.FromUnreadableResponse(exception);
        }
    }

    /// <summary>Returns null if there is a response, otherwise the status of a missing one.</summary>
    private static Status? GetMissingStatus(TResponse? response) =>
        response is null ? new Status(StatusCode.Internal, StatusMapping.ResponseUnreadableDetail) : null;
}
