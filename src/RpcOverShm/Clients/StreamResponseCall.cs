using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// A call with a stream of responses, and with one request or a stream of them. The server outcome becomes the call
/// outcome at once if no message waits to be read, otherwise when the user has read them all. An end from this side
/// drops unread messages.
/// </summary>
internal sealed class StreamResponseCall<TResponse> : ClientCall
    where TResponse : class
{
    private readonly ResponseMethod<TResponse> _method;
    private readonly InboundMessages _inbound;
    private bool _hasMessage; // one has arrived; used only by the holder of the reader role
    private TaskCompletionSource? _finished; // created for the first waiter

    public StreamResponseCall(ResponseMethod<TResponse> method)
    {
        _method = method;
        _inbound = new InboundMessages(
            this,
            Settings.MaxReceiveMessageBytes,
            Settings.Side,
            Settings.CallWindow,
            isAlwaysRequested: false,
            GetAccessHint<TResponse>());
        Responses = new ResponseStreamReader<TResponse>(this, _inbound, method.ResponseMarshaller);
    }

    public override string MethodName => _method.Name;

    public ResponseStreamReader<TResponse> Responses { get; }

    protected override long Skipped => _inbound.Skipped;

    protected override ClientSettings Settings => _method.Settings;

    public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (IsFinished)
        {
            return;
        }

        OnAnyMessage();
        if (_inbound.Add(wholeLength, bytes, flags) is { } problem)
        {
            Finish(problem, isCancel: true);
        }
    }

    public override void OnLoanedMessage(ReceivedMessage message, int recordBytes, FrameFlags flags)
    {
        if (IsFinished)
        {
            message.Release();
            return;
        }

        OnAnyMessage();
        if (_inbound.AddLoaned(message, recordBytes, flags) is { } problem)
        {
            Finish(problem, isCancel: true);
        }
    }

    public override void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (!IsFinished)
        {
            // Only a budget refuses a chunk, and the messages of a client have none.
            _ = _inbound.AddChunk(bytes, flags);
        }
    }

    public override void OnTopicStart(MessageSource source)
    {
        if (IsFinished)
        {
            source.Dispose();
            return;
        }

        OnAnyMessage();
        if (_inbound.Add(source) is { } problem)
        {
            Finish(problem, isCancel: true);
        }
    }

    public override void OnTopicEnd(long position)
    {
        if (!IsFinished)
        {
            _inbound.EndSource(position);
        }
    }

    /// <summary>Settles the call with the server outcome, once the user has read all messages.</summary>
    public void FinishAtEnd() => TrySettle(ServerOutcome!.WithSkipped(Skipped), isCancel: false);

    /// <summary>Returns a task that completes when the call outcome is settled. Does not fail.</summary>
    public Task WhenFinishedAsync()
    {
        var made = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource finished = Interlocked.CompareExchange(ref _finished, made, null) ?? made;
        if (IsFinished)
        {
            finished.TrySetResult();
        }

        return finished.Task;
    }

    protected override void OnEncoded()
    {
        _inbound.MaxMessageBytes = ReceiveLimit;
        _inbound.Hint = GetAccessHint<TResponse>();
    }

    private void OnAnyMessage()
    {
        OnMessageBegun();
        DropSnapshot();
        _hasMessage = true;
    }

    protected override void Start(object snapshot) => _method.Start(this, snapshot);

    /// <summary>Completes a waiting read: the only task of this call besides the headers.</summary>
    protected override void Execute(PendingUserCode userCode)
    {
        EndObservation();
        _inbound.CompleteWait();
    }

    protected override void CheckEnd(in Status status, bool hasMessage)
    {
        if (hasMessage && _hasMessage)
        {
            throw new ProtocolException($"The End of call {Id} has a message, but the call has had other messages.");
        }

        // A failing call may end in the middle of a message.
        if (status.StatusCode == StatusCode.OK)
        {
            _inbound.ThrowIfIncomplete();
        }
    }

    // An End settles the outcome at once if no message is unread, as in Grpc.Core, so that no status that has arrived
    // is lost. grpc-dotnet does so only if the End is the first frame of the response; after headers or a message it
    // notices the End only in a read.
    protected override bool EndsAtOnce(CallOutcome end) => _inbound.IsEmpty && !Responses.IsTaking;

    protected override void OnEnded(ReadOnlySpan<byte> message, bool hasMessage)
    {
        // An End has a message if the server's method has a single response: the stream's only message.
        if (hasMessage && _inbound.Add((uint)message.Length, message, FrameFlags.Single) is { } problem)
        {
            Finish(problem, isCancel: false);
            return;
        }

        if (Connection!.CloseReason is null && ServerOutcome!.IsOk)
        {
            _inbound.End();
        }
        else
        {
            _inbound.EndAbruptly();
        }

        if (IsObserved && IsFinished)
        {
            // No read may be waiting. Pending user code is needed to end the observation.
            AddUserCode(PendingUserCode.Complete);
        }

        // The server reads no more requests: queued frames are dropped, and pending writes fail with the end.
        Connection.Sender.Drop(this);
    }

    protected override void OnFinished()
    {
        base.OnFinished();
        _inbound.Abort();
        Volatile.Read(ref _finished)?.TrySetResult();
    }
}
