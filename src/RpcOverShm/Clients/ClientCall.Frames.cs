using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <content>The server's frames: headers, messages and the end, delivered by the holder of the reader role.</content>
internal abstract partial class ClientCall
{
    private object? _headers;  // the metadata, or the task source of callers that asked before it came
    private MessageMark _mark; // of the responses
    private volatile ServerEndState _serverEnd; // for calls with a single response and one-way calls

    /// <summary>The largest response on the wire, in bytes; null for no limit.</summary>
    protected long? ReceiveLimit => MessageEncoding.WireLimit(Settings.MaxReceiveMessageBytes, _mark);

    /// <summary>Whether the server's End is stored and no thread has taken it.</summary>
    protected bool IsEndStored => _serverEnd == ServerEndState.Stored;

    /// <summary>Returns the marshaller that reads responses in their encoding, and has them inspected.</summary>
    public Marshaller<T> WithDecoding<T>(Marshaller<T> marshaller)
    {
        Marshaller<T> own = Inspection is null ? marshaller : Inspection.Receiving(marshaller);
        return _mark == MessageMark.None
            ? own
            : MessageEncoding.Reading(own, Settings.MaxReceiveMessageBytes, Settings.Side, _mark == MessageMark.Gzip);
    }

    /// <summary>Returns the hint on how to buffer responses in their encoding.</summary>
    protected PayloadAccessHint GetAccessHint<T>() =>
        _mark == MessageMark.None ? PayloadAccessHint.Of<T>() : PayloadAccessHint.Of<T>().Encoded;

    /// <summary>
    /// Returns a task with the response headers. It completes when the response begins, and fails if the call ends
    /// without a response.
    /// </summary>
    public Task<Metadata> GetHeadersAsync()
    {
        object? known = Volatile.Read(ref _headers);
        if (known is null)
        {
            var source = new TaskCompletionSource<Metadata>(TaskCreationOptions.RunContinuationsAsynchronously);
            known = Interlocked.CompareExchange(ref _headers, source, null) ?? source;
        }

        FailHeadersIfFinished();
        return known is Metadata headers ? Task.FromResult(headers) : ((TaskCompletionSource<Metadata>)known).Task;
    }

    public override void OnHeaders(ReadOnlySpan<byte> head)
    {
        var from = new WireReader(head);
        Metadata? headers = MetadataCodec.Decode(ref from, MaxMetadataBytes);
        from.End("response metadata");

        // An entry of the library, which does not count toward the user's limit.
        string? encoding = headers is null ? null : MessageEncoding.Take(MessageEncoding.ResponseKey, ref headers);
        if (headers is null || MetadataCodec.MeasureBytes(headers) > MaxMetadataBytes)
        {
            OnHeadTooLarge(FrameKind.Headers);
        }
        else if (!HasHeaders && !IsFinished)
        {
            _hasResponse = true;
            SetEncoding(encoding);
            SetHeaders(headers);
        }
    }

    public override void OnHandles(HandleSet? set)
    {
        if (IsFinished || Handles?.Received is not { } received)
        {
            set?.Close();
        }
        else if (set is null)
        {
            Finish(StatusMapping.HandlesMissing(HandleArrival.Refused), isCancel: true);
        }
        else
        {
            received.Add(set);
        }
    }

    public override void OnHeadTooLarge(FrameKind kind)
    {
        string what = kind == FrameKind.Headers ? "The response's metadata" : "The response's trailing metadata";
        Status status = StatusMapping.MetadataTooLarge(what, MaxMetadataBytes);
        LimitEvents.Reached(
            Settings.Logger,
            StatusMapping.MetadataOption,
            MaxMetadataBytes,
            $"{MethodName}: its server sent more metadata.");
        if (kind == FrameKind.End)
        {
            SetEmptyHeaders();
            EndByServer(CallOutcome.Local(status), default, hasMessage: false);
        }
        else
        {
            Finish(status, isCancel: true);
        }
    }

    public override void OnHeadOverBudget(BufferBudget full)
    {
        LimitEvents.Reached(
            Settings.Logger, full.Option, full.LimitBytes, $"{MethodName}: the head of its response was dropped.");

        // A one-way call has already ended for its user. Its failure is reported when the End frame is complete.
        if (!IsOneWay)
        {
            Finish(StatusMapping.BufferFull(full), isCancel: true);
        }
    }

    public override void OnEndDropped(BufferBudget? full) => EndByServer(
        full is null ? Outcome : CallOutcome.Local(StatusMapping.BufferFull(full)), default, hasMessage: false);

    public override void OnEnd(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags)
    {
        bool hasMessage = (flags & FrameFlags.HasMessage) != 0;
        if (head.IsEmpty)
        {
            CheckUnlessFinished(Status.DefaultSuccess, hasMessage);
            if (hasMessage)
            {
                _hasResponse = true;
            }

            SetEmptyHeaders();
            EndByServer(CallOutcome.Success, message, hasMessage);
            return;
        }

        StatusTrailer end = StatusTrailer.Decode(head, MaxMetadataBytes);
        if (end.IsMetadataTooLarge
            || (end.Metadata is not null && MetadataCodec.MeasureBytes(end.Metadata) > MaxMetadataBytes))
        {
            OnHeadTooLarge(FrameKind.End);
            return;
        }

        if (end.IsNotProcessed && end.Status.StatusCode == StatusCode.Unavailable && TryMarkRefused())
        {
            return;
        }

        CheckUnlessFinished(end.Status, hasMessage);
        _hasResponse |= hasMessage;
        SetEmptyHeaders();
        EndByServer(CallOutcome.FromServer(PreferOwnDeadline(end.Status), end.Metadata), message, hasMessage);
    }

    public override void OnConnectionClosed(CloseReason reason)
    {
        try
        {
            // A call whose End was handled is not notified. The End of this one did not come, or it threw after it had
            // set _serverOutcome, so that a two-way call still needs an end. A stream can still be read up to its last
            // complete message.
            if (_serverOutcome is null || !IsOneWay)
            {
                EndByServer(
                    CallOutcome.Local(StatusMapping.FromClose(reason)),
                    default,
                    hasMessage: false,
                    isClosedLocally: reason.Kind == CloseKind.Local);
                FailHeadersIfFinished();
                Latch?.Signal();
            }
            else
            {
                NotifyWaiters(); // The End of this one-way call threw before it did so.
            }
        }
        catch
        {
            // Memory is probably short. Without an end the user would wait for ever, so this outcome exists already.
            try
            {
                if (TrySetOutcome(CallOutcome.EndFailed))
                {
                    OnFinished();
                }
            }
            finally
            {
                NotifyWaiters();
            }

            throw;
        }
        finally
        {
            Connection?.Sender.Drop(this);
        }
    }

    /// <summary>Marks that the server's End, with its response, is stored.</summary>
    protected void MarkEndStored() => _serverEnd = ServerEndState.Stored;

    /// <summary>Returns true to the first thread that asks after the End was stored.</summary>
    protected bool TryTakeEnd() => Interlocked.CompareExchange(
        ref _serverEnd, ServerEndState.Taken, ServerEndState.Stored) == ServerEndState.Stored;

    /// <summary>
    /// Marks that the response has begun with a message. The headers are empty if none were received before.
    /// </summary>
    protected void OnMessageBegun()
    {
        _hasResponse = true;
        SetEmptyHeaders();
    }

    /// <summary>Sets the response headers, once; empty for a response without headers.</summary>
    protected void SetHeaders(Metadata headers)
    {
        // If only the server can end the call, no other thread can ask for them at the same time.
        if (IsUncancellable)
        {
            Volatile.Write(ref _headers, headers);
        }
        else if (Interlocked.Exchange(ref _headers, headers) is TaskCompletionSource<Metadata> source)
        {
            source.TrySetResult(headers);
        }
    }

    /// <summary>Fails a pending headers task if the call is over.</summary>
    protected void FailHeadersIfFinished()
    {
        if (HasEnd && Volatile.Read(ref _headers) is TaskCompletionSource<Metadata> source)
        {
            source.TrySetException(ToException());

            // Marks the exception as observed: a user may never await the headers.
            _ = source.Task.Exception;
        }
    }

    /// <summary>Called when the headers name an encoding of the responses, even identity.</summary>
    protected virtual void OnEncoded()
    {
    }

    private void SetEncoding(string? encoding)
    {
        if (encoding is MessageEncoding.Gzip or MessageEncoding.Identity)
        {
            _mark = MessageEncoding.MarkOf(encoding);
            OnEncoded();
        }
        else if (encoding is not null)
        {
            Finish(StatusMapping.EncodingUnknown(encoding), isCancel: true);
        }
    }

    private void SetEmptyHeaders()
    {
        // The server's reply to a cancel carries no headers; the headers task fails with this side's outcome instead.
        if (!HasHeaders && !IsFinished)
        {
            SetHeaders(Metadata.Empty);
        }
    }

    /// <summary>Throws if the End frame is not allowed now. Called before any state has changed.</summary>
    /// <exception cref="ProtocolException">The server may not end the call like this.</exception>
    protected virtual void CheckEnd(in Status status, bool hasMessage)
    {
    }

    /// <summary>
    /// Called when the server or the end of the connection has ended the call and <see cref="ServerOutcome"/> is set.
    /// Runs on the holder of the reader role, or after a close on the thread that ends the connection.
    /// </summary>
    protected abstract void OnEnded(ReadOnlySpan<byte> message, bool hasMessage);

    /// <summary>
    /// Whether an End without a message settles the outcome at once, because the user has nothing left to read. Called
    /// by the holder of the reader role.
    /// </summary>
    protected abstract bool EndsAtOnce(CallOutcome end);

    /// <summary>The messages of topics that were left out, for the trailers.</summary>
    protected virtual long Skipped => 0;

    private long MaxMetadataBytes => Connection!.OwnLimits.MaxMetadataBytes;

    // Both sides measure the same deadline, so the status is this side's own even if the server reports the deadline
    // first. As in grpc-dotnet, a Cancelled that arrives after the deadline counts as the deadline.
    private Status PreferOwnDeadline(in Status status) =>
        Remaining <= TimeSpan.Zero
        && (status.StatusCode == StatusCode.Cancelled
            || (status.StatusCode == StatusCode.DeadlineExceeded
                && status.Detail == StatusMapping.ServerDeadlineDetail))
            ? DeadlineStatus()
            : status;

    private void CheckUnlessFinished(in Status status, bool hasMessage)
    {
        if (!IsFinished)
        {
            CheckEnd(status, hasMessage);
        }
    }

    private void EndByServer(CallOutcome end, ReadOnlySpan<byte> message, bool hasMessage, bool isClosedLocally = false)
    {
        if (IsOneWay)
        {
            EndOneWay(end, isClosedLocally);
            return;
        }

        // The outcome is settled before _serverOutcome is set: from then on a failed write reports this end, and a
        // token, deadline or Dispose must not replace it.
        bool isSettled = !hasMessage && EndsAtOnce(end) && TrySetOutcome(end.WithSkipped(Skipped));
        _serverOutcome = end;
        if (isSettled || !IsFinished)
        {
            OnEnded(message, hasMessage);
        }

        if (isSettled)
        {
            Release(isCancel: false);
        }
    }
}

/// <summary>
/// The state of the server's End of a call with a single response. The holder of the reader role stores the End and its
/// response; one thread takes both, and it alone settles the outcome or releases the response.
/// </summary>
internal enum ServerEndState : byte
{
    None,
    Stored,
    Taken,
}
