using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Sending;

namespace RpcOverShm.Clients;

/// <summary>
/// A call with a stream of responses, with one request or a stream of them. The server's end becomes the call's at
/// once when no message waits to be read, otherwise when the reader has come to it. An end from this side drops the
/// messages that were not read.
/// </summary>
internal sealed class StreamResponseCall<TResponse> : ClientCall
    where TResponse : class
{
    private readonly AnsweredMethod<TResponse> _method;
    private readonly InboundMessages _inbound;
    private bool _hasMessage; // one has come; the reader role's own
    private TaskCompletionSource? _finished; // made for who waits for that

    public StreamResponseCall(AnsweredMethod<TResponse> method)
    {
        _method = method;
        _inbound = new InboundMessages(
            this,
            Settings.MaxReceiveMessageBytes,
            Settings.CallWindow,
            isAlwaysRequested: false,
            HintOf<TResponse>());
        Responses = new ResponseStreamReader<TResponse>(this, _inbound, method.ResponseMarshaller);
    }

    public override string MethodName => _method.Name;

    public ResponseStreamReader<TResponse> Responses { get; }

    protected override ClientSettings Settings => _method.Settings;

    public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (IsFinished)
        {
            return;
        }

        OnMessageBegun();
        ForgetSnapshot();
        _hasMessage = true;
        if (_inbound.Add(wholeLength, bytes, flags) is { } problem)
        {
            Finish(problem, isCancel: true);
        }
    }

    public override void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (!IsFinished)
        {
            _inbound.AddChunk(bytes, flags);
        }
    }

    /// <summary>The reader has come to the end of the messages: now the call ends as the server has ended it.</summary>
    public void FinishAtEnd() => TrySettle(ServerOutcome!, isCancel: false);

    /// <summary>Completes when the call has ended for its user. Does not fail.</summary>
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
        _inbound.Hint = HintOf<TResponse>();
    }

    protected override void Start(object snapshot) => _method.Start(this, snapshot);

    /// <summary>What is awaited besides the headers is a read.</summary>
    protected override void Execute(PendingUserCode work) => _inbound.CompleteWait();

    protected override void CheckEnd(in Status status, bool hasMessage)
    {
        if (hasMessage && _hasMessage)
        {
            throw new ProtocolException($"A message in the end of call {Id}, which had others before.");
        }

        // A call that fails may end in the middle of a message.
        if (status.StatusCode == StatusCode.OK)
        {
            _inbound.ThrowIfIncomplete();
        }
    }

    // So in Grpc.Core. Grpc-dotnet does the same when nothing came before the end; after headers or a message it looks
    // for the end only when it is read. One rule for both loses no status that has arrived.
    protected override bool IsOutcome(CallOutcome end) => _inbound.IsEmpty && !Responses.IsTaking;

    protected override void OnEnded(ReadOnlySpan<byte> message, bool hasMessage)
    {
        // The server's method has one response: read as a stream, it is the only one.
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

        // The server reads no more requests: what is queued is dropped, and who writes learns of the end.
        Connection.DropQueued(this);
    }

    protected override void OnFinished()
    {
        base.OnFinished();
        _inbound.Abort();
        Volatile.Read(ref _finished)?.TrySetResult();
    }
}
