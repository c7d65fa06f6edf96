using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <content>
/// The client's frames, as the holder of the reader role delivers them, and the end of the connection.
/// </content>
internal sealed partial class ServerCall
{
    public override void OnStart(ReadOnlySpan<byte> head, ReadOnlySpan<byte> message, FrameFlags flags)
    {
        RequestHead request = RequestHead.Decode(head, Settings.MaxMetadataBytes);
        _handler = Settings.Methods.Find(request.Method);
        MethodName = _handler?.FullName ?? Encoding.UTF8.GetString(request.Method);
        RequestMark = MessageEncoding.MarkOf(request.Encoding);
        CallTicket? ticket = IsOneWay || request.Parent is null ? null : owner.CreateNestedTicket(this, request.Parent);
        if ((NameHandles(request.Handles) ?? Admit(_handler, request, message.Length, ticket)) is { } refusal)
        {
            RefuseAtStart(refusal);
            return;
        }

        Host = request.Host ?? Host;
        Codec = request.Codec;
        RequestHeaders = ReservedMetadata.HideFromMethod(request.Metadata);
        long metadataBytes = request.Metadata is null ? 0 : MetadataCodec.MeasureKeptBytes(RequestHeaders);
        HeadBytes = checked((2 * Host.Length) + (int)metadataBytes);
        _orphanState = IsOneWay ? OrphanState.Admitted : OrphanState.MethodEnded;
        Ticket = ticket;
        if (ticket?.CallbackOrigin is { } origin)
        {
            origin.HasCallback = true;
        }

        const FrameFlags Whole = FrameFlags.HasMessage | FrameFlags.HalfClose;
        bool isWhole = !_handler!.IsRequestStream && (flags & Whole) == Whole;
        if (!isWhole && !TryTakeRequests(message, flags))
        {
            return;
        }

        if (request.Timeout is { } timeout)
        {
            StartDeadline(timeout);
        }

        if (isWhole)
        {
            _request = ReceivedMessage.Of(message, _handler.RequestHint(RequestMark));
        }

        if (Requests is null || Requests.TryClaimStart(IsEnded))
        {
            BeginOrWait(isWhole ? message.Length : 0);
        }
    }

    public override void OnHeadTooLarge(FrameKind kind)
    {
        ReportMetadataTooLarge();
        Status status = StatusMapping.MetadataTooLarge("The request's metadata", Settings.MaxMetadataBytes);
        RefuseAtStart(new StatusTrailer(status, IsNotProcessed: true));
    }

    public override void OnHeadTimedOut(TimeSpan limit)
    {
        if (IsEnded)
        {
            return; // another thread has ended the call and will drop the head
        }

        LimitEvents.Reached(
            Settings.Logger,
            ServerLimits.HeadTimeoutOption,
            (long)limit.TotalMilliseconds,
            $"{owner.PeerName}: the head of a call was incomplete after the time limit.");
        RefuseAtStart(new StatusTrailer(StatusMapping.HeadTooLate(limit), IsNotProcessed: true));
    }

    public override void OnHeadOverBudget(BufferBudget full)
    {
        ReportFull(full);
        RefuseAtStart(new StatusTrailer(StatusMapping.BufferFull(full), IsNotProcessed: true));
    }

    public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (GetInbound() is not { } inbound)
        {
            return;
        }

        StopIfRefused(inbound.Add(wholeLength, bytes, flags));
        BeginIfDue();
    }

    public override void OnLoanedMessage(ReceivedMessage message, int recordBytes, FrameFlags flags)
    {
        InboundMessages? inbound;
        try
        {
            inbound = GetInbound();
        }
        catch
        {
            message.Release();
            throw;
        }

        if (inbound is null)
        {
            message.Release();
            return;
        }

        StopIfRefused(inbound.AddLoaned(message, recordBytes, flags));
        BeginIfDue();
    }

    public override void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags)
    {
        if (GetInbound() is { } inbound)
        {
            StopIfRefused(inbound.AddChunk(bytes, flags));
        }

        BeginIfDue();
    }

    public override void OnHalfClose()
    {
        GetInbound()?.End();
        BeginIfDue();
    }

    public override void OnCancel()
    {
        PartialHead?.Discard();
        PartialHead = null;
        Stop(Status.DefaultCancelled);

        // Even if the method has ended: its response may wait for credit that the client never grants after a cancel.
        Connection.Sender.StopMessages(this);
    }

    public override void OnConnectionClosed(CloseReason reason)
    {
        // A complete one-way request is served even if its client has left. The close does not wait for such methods:
        // they may run for long.
        bool isOrphan = IsOneWay && IsRequestKnownComplete && owner.TryOrphan(this);
        try
        {
            if (!isOrphan)
            {
                EndWithoutResponse();
            }
        }
        finally
        {
            // After an exception, too: queued frames are charged to budgets that outlive the connection.
            if (!isOrphan)
            {
                Connection.Sender.Forget(this);
            }

            Connection.Sender.Drop(this);
        }
    }

    /// <summary>
    /// Decides whether the call may run. Admits and counts it, and returns null; else returns the trailer of its end.
    /// </summary>
    /// <param name="handler">The method; null if the server has none of this name.</param>
    /// <param name="request">The head of the call.</param>
    /// <param name="messageLength">The bytes of the message in the first frame.</param>
    /// <param name="ticket">The ticket of a call that belongs to a chain; null for any other call.</param>
    public StatusTrailer? Admit(
        MethodHandler? handler, in RequestHead request, int messageLength, CallTicket? ticket = null)
    {
        if (handler is null)
        {
            Settings.Methods.LogUnimplemented(Settings, MethodName);
            return new StatusTrailer(Settings.Methods.CreateUnimplementedStatus(MethodName));
        }

        if (FindMismatch(handler, request) is { } mismatch)
        {
            return new StatusTrailer(mismatch);
        }

        if (request.IsMetadataTooLarge
            || (request.Metadata is not null
                && PreviousAttemptsHeader.MeasureBytes(request.Metadata) > Settings.MaxMetadataBytes))
        {
            ReportMetadataTooLarge();
            return new StatusTrailer(
                StatusMapping.MetadataTooLarge("The request's metadata", Settings.MaxMetadataBytes));
        }

        if (ticket?.Depth > Settings.MaxCallbackDepth)
        {
            LimitEvents.Reached(
                Settings.Logger,
                ServerLimits.DepthOption,
                Settings.MaxCallbackDepth,
                $"{owner.PeerName}: a call was refused, because its chain of callbacks is too long.");
            return new StatusTrailer(
                StatusMapping.CallbacksTooDeep(ServerLimits.DepthOption, Settings.MaxCallbackDepth));
        }

        MessageMark mark = MessageEncoding.MarkOf(request.Encoding);
        long? limitBytes = MessageEncoding.WireLimit(Settings.MaxReceiveMessageBytes, mark);
        Status? refusal = messageLength > limitBytes
            ? StatusMapping.ReceivedTooLarge(messageLength, limitBytes.Value, Settings.Side)
            : owner.Admit(isInChain: ticket is not null, IsOneWay);
        if (refusal is not { } why)
        {
            return null;
        }

        MessageTooLargeException.LogIfSo(Settings.Logger, MethodName, Settings.Side, why);
        return new StatusTrailer(why, IsNotProcessed: owner.IsRefusing);
    }

    // Returns the status that refuses a call because of its shape, codec or encoding; null if the method supports them.
    private Status? FindMismatch(MethodHandler handler, in RequestHead request)
    {
        if (IsOneWay && !handler.IsUnary)
        {
            return StatusMapping.OneWayNotUnary(MethodName);
        }

        if (!handler.Supports(request.Codec))
        {
            return StatusMapping.CodecUnknown(request.Codec ?? MarshallerProvider.Generated, handler.CodecNames);
        }

        return request.Encoding is { } encoding and not MessageEncoding.Gzip and not MessageEncoding.Identity
            ? StatusMapping.EncodingUnknown(encoding)
            : null;
    }

    private void ReportMetadataTooLarge() => LimitEvents.Reached(
        Settings.Logger,
        StatusMapping.MetadataOption,
        Settings.MaxMetadataBytes,
        $"{owner.PeerName}: a call with more metadata was refused.");

    // Unlike Refuse, releases nothing: the call was not admitted, so it has no counts yet.
    private void RefuseAtStart(in StatusTrailer trailer)
    {
        _isRefused = true;
        if (MethodName.Length > PeerText.LongestName && _handler is null)
        {
            // Of its head, a refused call keeps only this until its End is sent: so much that a log shows the cut.
            MethodName = MethodName[..(PeerText.LongestName + 1)];
        }

        EndOnce(trailer);
        Handles?.Close();
    }

    /// <summary>
    /// Creates the request queue of a call and adds the first frame. Returns false if the call was refused.
    /// </summary>
    private bool TryTakeRequests(ReadOnlySpan<byte> message, FrameFlags flags)
    {
        // A method with a request stream starts at once. Any other call occupies memory until its request is complete.
        if (!_handler!.IsRequestStream
            && owner.CountAndCharge(Ticket ??= new CallTicket(this)) is { } refusal)
        {
            Refuse(refusal);
            return false;
        }

        var requests = new RequestMessages(_handler, Settings, this, owner.BufferBudget);
        Status? problem = requests.AddFirst(message, flags);
        Requests = requests;
        Interlocked.MemoryBarrier(); // StoreLoad: a thread that ends the call sees Requests, or IsEnded is true below
        StopIfRefused(problem);
        return true;
    }

    /// <summary>
    /// Ends the call with the status of a refused request; does nothing if <paramref name="problem"/> is null.
    /// </summary>
    private void StopIfRefused(in Status? problem)
    {
        if (problem is not { } status)
        {
            return;
        }

        if (Requests!.Inbound.Exceeded is { } full)
        {
            ReportFull(full);
        }

        MessageTooLargeException.LogIfSo(Settings.Logger, MethodName, Settings.Side, status);
        _isRefused |= IsOneWay; // It is reported, although its request may never be whole.
        Stop(status);
    }

    // Only the holder of the reader role calls this.
    private void BeginIfDue()
    {
        if (Requests?.TryClaimStart(IsEnded) == true)
        {
            BeginOrWait(requestBytes: 0);
        }
    }

    private void ReportFull(BufferBudget full) => LimitEvents.Reached(
        Settings.Logger, full.Option, full.LimitBytes, $"{owner.PeerName}: a request was refused.");

    // Null for a refused call, whose requests may still arrive while its End waits for space. So it is for a call whose
    // head is complete and was not delivered: another thread has dropped the head, and ends the call. Any other message
    // that is out of place is a protocol error of the peer.
    private InboundMessages? GetInbound() => Requests is not null
        ? Requests.Inbound
        : _isRefused || (_handler is null && PartialHead is null)
            ? null
            : throw new ProtocolException(
                $"The peer sent a message of call {Id} "
                + $"{(_handler is null ? "before its start" : "after the end of its messages")}.");
}
