using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Clients;

/// <summary>
/// An outgoing call as its server answers it: headers, messages, the end. By the holder of the reader role.
/// </summary>
internal abstract class AnsweredCall : ClientCall
{
    /// <summary>
    /// True when responses have a mark of their encoding. Set with the headers, ahead of any of them.
    /// </summary>
    protected bool IsEncoded
    {
        get => (Notes & CallNotes.IsEncoded) != 0;
        set => Note(CallNotes.IsEncoded, value);
    }

    /// <summary>True when the mark may say that a response is compressed.</summary>
    protected bool MayBeCompressed
    {
        get => (Notes & CallNotes.MayBeCompressed) != 0;
        set => Note(CallNotes.MayBeCompressed, value);
    }

    /// <summary>The most bytes that come for a response; null for any.</summary>
    protected long? ReceiveLimit => MessageEncoding.WireLimit(Settings.MaxReceiveMessageBytes, IsEncoded);

    /// <summary>Reads the call's responses, however they are encoded.</summary>
    public Marshaller<T> Decoding<T>(Marshaller<T> marshaller) =>
        IsEncoded
            ? MessageEncoding.Reading(marshaller, Settings.MaxReceiveMessageBytes, MayBeCompressed)
            : marshaller;

    /// <summary>How responses, as they come, are taken.</summary>
    protected TakingHabit HabitOf<T>() => IsEncoded ? TakingHabit.Of<T>().Encoded : TakingHabit.Of<T>();

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
            IsAnswered = true;
            NoteEncoding(encoding);
            SetHeaders(headers);
        }
    }

    public override void OnHeadTooLarge(FrameKind kind)
    {
        string what = kind == FrameKind.Headers ? "The response's metadata" : "The response's trailing metadata";
        Status status = StatusMapping.MetadataTooLarge(what, LimitOfMetadata);
        if (kind == FrameKind.End)
        {
            NoteAnswer();
            SetEnd(CallEnd.Local(status), default, hasMessage: false);
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
                IsAnswered = true;
            }

            NoteAnswer();
            SetEnd(CallEnd.Success, message, hasMessage);
            return;
        }

        StatusTrailer end = StatusTrailer.Decode(head);
        if (end.Metadata is not null && MetadataCodec.MeasureBytes(end.Metadata) > LimitOfMetadata)
        {
            OnHeadTooLarge(FrameKind.End);
            return;
        }

        if (end.IsNotProcessed && end.Status.StatusCode == StatusCode.Unavailable && TryNoteRefusal())
        {
            return;
        }

        CheckUnlessFinished(end.Status, hasMessage);
        IsAnswered |= hasMessage;
        NoteAnswer();
        SetEnd(CallEnd.FromServer(Localize(end.Status), end.Metadata), message, hasMessage);
    }

    public override void OnConnectionClosed(CloseReason reason)
    {
        // What came before counts; a stream can still be read to where it broke off.
        if (End is null)
        {
            SetEnd(CallEnd.Local(StatusMapping.FromClose(reason)), default, hasMessage: false);
            FailHeadersIfFinished();
            Waiter?.Signal();
        }

        Connection?.DropQueued(this);
    }

    /// <summary>
    /// The server leaves and has ended the call before a method saw it. True when that is not to be its end.
    /// </summary>
    protected abstract bool TryNoteRefusal();

    /// <summary>A message began to come: so has the answer, without headers if none came before.</summary>
    protected void NoteMessage()
    {
        IsAnswered = true;
        NoteAnswer();
    }

    protected override void Reset()
    {
        base.Reset();
        IsEncoded = false;
        MayBeCompressed = false;
    }

    /// <summary>Responses are encoded, one way or another.</summary>
    protected virtual void OnEncoded()
    {
    }

    private void NoteEncoding(string? encoding)
    {
        if (encoding is MessageEncoding.Gzip or MessageEncoding.Identity)
        {
            IsEncoded = true;
            MayBeCompressed = encoding == MessageEncoding.Gzip;
            OnEncoded();
        }
        else if (encoding is not null)
        {
            Finish(StatusMapping.EncodingUnknown(encoding), isCancel: true);
        }
    }

    private void NoteAnswer()
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
    /// The call was ended by the server or with the connection: <see cref="ClientCall.End"/> is set. By the holder of
    /// the reader role, or by the standby after a close.
    /// </summary>
    protected abstract void OnEnded(ReadOnlySpan<byte> message, bool hasMessage);

    /// <summary>
    /// True when an end without a message is the outcome at once: the user has nothing left to read before it. False
    /// when the user must come to it first. By the holder of the reader role.
    /// </summary>
    protected abstract bool IsOutcome(CallEnd end);

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

    private void SetEnd(CallEnd end, ReadOnlySpan<byte> message, bool hasMessage)
    {
        // A writer that is refused reports this end. The outcome is settled before, so that no token, deadline or
        // Dispose can replace it in between.
        bool isSettled = !hasMessage && IsOutcome(end) && TrySetOutcome(end);
        End = end;
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
