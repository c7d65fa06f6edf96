using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <content>The answer: headers, messages and the end, given by the holder of the reader role.</content>
internal abstract partial class ClientCall
{
    private bool _isEncoded;       // responses have a mark of their encoding
    private bool _mayBeCompressed; // the mark may say that one is compressed

    /// <summary>The most bytes that come for a response; null for any.</summary>
    protected long? ReceiveLimit => MessageEncoding.WireLimit(Settings.MaxReceiveMessageBytes, _isEncoded);

    /// <summary>Reads the call's responses, however they are encoded.</summary>
    public Marshaller<T> Decoding<T>(Marshaller<T> marshaller) =>
        _isEncoded
            ? MessageEncoding.Reading(marshaller, Settings.MaxReceiveMessageBytes, _mayBeCompressed)
            : marshaller;

    /// <summary>How responses, as they come, are taken.</summary>
    protected PayloadAccessHint HintOf<T>() =>
        _isEncoded ? PayloadAccessHint.Of<T>().Encoded : PayloadAccessHint.Of<T>();

    public override void OnHeaders(ReadOnlySpan<byte> head)
    {
        var from = new WireReader(head);
        Metadata headers = MetadataCodec.Decode(ref from);
        from.End("response metadata");

        // The library's own, which no limit of the user's counts.
        string? encoding = MessageEncoding.Take(MessageEncoding.ResponseKey, ref headers);
        if (MetadataCodec.MeasureBytes(headers) > LimitOfMetadata)
        {
            OnHeadTooLarge(FrameKind.Headers);
        }
        else if (!HasHeaders && !IsFinished)
        {
            _isAnswered = true;
            SetEncoding(encoding);
            SetHeaders(headers);
        }
    }

    public override void OnHeadTooLarge(FrameKind kind)
    {
        string what = kind == FrameKind.Headers ? "The response's metadata" : "The response's trailing metadata";
        Status status = StatusMapping.MetadataTooLarge(what, LimitOfMetadata);
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

    public override void OnEnd(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags)
    {
        bool hasMessage = (flags & FrameFlags.HasMessage) != 0;
        if (head.IsEmpty)
        {
            CheckUnlessFinished(Status.DefaultSuccess, hasMessage);
            if (hasMessage)
            {
                _isAnswered = true;
            }

            SetEmptyHeaders();
            EndByServer(CallOutcome.Success, message, hasMessage);
            return;
        }

        StatusTrailer end = StatusTrailer.Decode(head);
        if (end.Metadata is not null && MetadataCodec.MeasureBytes(end.Metadata) > LimitOfMetadata)
        {
            OnHeadTooLarge(FrameKind.End);
            return;
        }

        if (end.IsNotProcessed && end.Status.StatusCode == StatusCode.Unavailable && TryMarkRefused())
        {
            return;
        }

        CheckUnlessFinished(end.Status, hasMessage);
        _isAnswered |= hasMessage;
        SetEmptyHeaders();
        EndByServer(CallOutcome.FromServer(Localize(end.Status), end.Metadata), message, hasMessage);
    }

    public override void OnConnectionClosed(CloseReason reason)
    {
        // What came before counts; a stream can still be read to where it broke off.
        if (_serverOutcome is null)
        {
            EndByServer(CallOutcome.Local(StatusMapping.FromClose(reason)), default, hasMessage: false);
            FailHeadersIfFinished();
            Waiter?.Signal();
        }

        Connection?.DropQueued(this);
    }

    /// <summary>A message began to come: so has the answer, without headers if none came before.</summary>
    protected void OnMessageBegun()
    {
        _isAnswered = true;
        SetEmptyHeaders();
    }

    /// <summary>Responses are encoded, one way or another.</summary>
    protected virtual void OnEncoded()
    {
    }

    private void SetEncoding(string? encoding)
    {
        if (encoding is MessageEncoding.Gzip or MessageEncoding.Identity)
        {
            _isEncoded = true;
            _mayBeCompressed = encoding == MessageEncoding.Gzip;
            OnEncoded();
        }
        else if (encoding is not null)
        {
            Finish(StatusMapping.EncodingUnknown(encoding), isCancel: true);
        }
    }

    private void SetEmptyHeaders()
    {
        // The server's answer to a cancel is none: who asks for the headers is told how this side has ended the call.
        if (!HasHeaders && !IsFinished)
        {
            SetHeaders(Metadata.Empty);
        }
    }

    /// <summary>Refuses an end that may not come now, before anything has changed.</summary>
    /// <exception cref="ProtocolException">The server may not end the call like this.</exception>
    protected virtual void CheckEnd(in Status status, bool hasMessage)
    {
    }

    /// <summary>
    /// The call was ended by the server or with the connection: <see cref="ServerOutcome"/> is set. By the holder of
    /// the reader role, or by the standby after a close.
    /// </summary>
    protected abstract void OnEnded(ReadOnlySpan<byte> message, bool hasMessage);

    /// <summary>
    /// True when an end without a message is the outcome at once: the user has nothing left to read before it. False
    /// when the user must come to it first. By the holder of the reader role.
    /// </summary>
    protected abstract bool IsOutcome(CallOutcome end);

    private long LimitOfMetadata => Connection!.OwnLimits.MaxMetadataBytes;

    // Both sides measure one deadline, and the server's word may come first; then it is this side's own end all the
    // same.
    private Status Localize(in Status status) =>
        Remaining <= TimeSpan.Zero
        && (status.StatusCode == StatusCode.Cancelled
            || (status.StatusCode == StatusCode.DeadlineExceeded
                && status.Detail == StatusMapping.ServerDeadlineDetail))
            ? StatusMapping.ClientDeadline
            : status;

    private void CheckUnlessFinished(in Status status, bool hasMessage)
    {
        if (!IsFinished)
        {
            CheckEnd(status, hasMessage);
        }
    }

    private void EndByServer(CallOutcome end, ReadOnlySpan<byte> message, bool hasMessage)
    {
        // A writer that is refused reports this end. The outcome is settled before, so that no token, deadline or
        // Dispose can replace it in between.
        bool isSettled = !hasMessage && IsOutcome(end) && TrySetOutcome(end);
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
