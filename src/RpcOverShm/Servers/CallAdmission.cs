using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>Decides whether a new incoming call may run. Stateless.</summary>
internal static class CallAdmission
{
    /// <summary>Admits and counts a call. Returns null, or the trailer with which the call is refused.</summary>
    /// <param name="owner">The connection.</param>
    /// <param name="methodName">The full name of the method.</param>
    /// <param name="handler">The method; null if the server has none of this name.</param>
    /// <param name="request">The head of the call.</param>
    /// <param name="messageLength">The bytes of the message in the first frame.</param>
    /// <param name="ticket">The ticket of a call that belongs to a chain; null for any other call.</param>
    /// <param name="isOneWay">Whether the call is one-way.</param>
    public static StatusTrailer? Admit(
        ServerConnection owner,
        string methodName,
        MethodHandler? handler,
        in RequestHead request,
        int messageLength,
        CallTicket? ticket = null,
        bool isOneWay = false)
    {
        ServerSettings settings = owner.Settings;
        if (handler is null)
        {
            settings.Methods.LogUnimplemented(settings, methodName);
            return new StatusTrailer(settings.Methods.Unimplemented(methodName));
        }

        if (FindMismatch(methodName, handler, request, isOneWay) is { } mismatch)
        {
            return new StatusTrailer(mismatch);
        }

        if (request.IsMetadataTooLarge
            || (request.Metadata is not null
                && PreviousAttemptsHeader.MeasureBytes(request.Metadata) > settings.MaxMetadataBytes))
        {
            ReportMetadataTooLarge(owner);
            return new StatusTrailer(
                StatusMapping.MetadataTooLarge("The request's metadata", settings.MaxMetadataBytes));
        }

        if (ticket?.Depth > settings.MaxCallbackDepth)
        {
            LimitEvents.Reached(
                settings.Logger,
                ServerLimits.DepthOption,
                settings.MaxCallbackDepth,
                $"{owner.PeerName}: a call was refused, because its chain of callbacks is too long.");
            return new StatusTrailer(
                StatusMapping.CallbacksTooDeep(ServerLimits.DepthOption, settings.MaxCallbackDepth));
        }

        MessageMark mark = MessageEncoding.MarkOf(request.Encoding);
        long? limitBytes = MessageEncoding.WireLimit(settings.MaxReceiveMessageBytes, mark);
        Status? refusal = messageLength > limitBytes
            ? StatusMapping.ReceivedTooLarge(messageLength, limitBytes.Value, settings.Side)
            : owner.TryAdmit(isInChain: ticket is not null, isOneWay);
        if (refusal is not { } why)
        {
            return null;
        }

        MessageTooLargeException.LogIfSo(settings.Logger, methodName, settings.Side, why);
        return new StatusTrailer(why, IsNotProcessed: owner.IsRefusing);
    }

    /// <summary>
    /// Returns the status that refuses a call because of its shape, codec or encoding; null if the method supports
    /// them.
    /// </summary>
    private static Status? FindMismatch(
        string methodName, MethodHandler handler, in RequestHead request, bool isOneWay)
    {
        if (isOneWay && !handler.IsUnary)
        {
            return StatusMapping.OneWayNotUnary(methodName);
        }

        if (!handler.Supports(request.Codec))
        {
            return StatusMapping.CodecUnknown(request.Codec ?? MarshallerProvider.Generated, handler.CodecNames);
        }

        return request.Encoding is { } encoding and not MessageEncoding.Gzip and not MessageEncoding.Identity
            ? StatusMapping.EncodingUnknown(encoding)
            : null;
    }

    /// <summary>Reports that a request's metadata exceeds the limit.</summary>
    public static void ReportMetadataTooLarge(ServerConnection owner) => LimitEvents.Reached(
        owner.Settings.Logger,
        StatusMapping.MetadataOption,
        owner.Settings.MaxMetadataBytes,
        $"{owner.PeerName}: a call with more metadata was refused.");

    /// <summary>Counts and logs that the details of a failure were left out, because of the client's limit.</summary>
    public static void ReportDetailsLeftOut(ServerConnection owner, string method) => LimitEvents.Reached(
        owner.Settings.Logger,
        StatusMapping.MetadataOption,
        owner.Connection.PeerLimits.MaxMetadataBytes,
        $"{owner.PeerName}: {method} failed, and the client gets the status without its details.");
}
