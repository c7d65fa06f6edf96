using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>Decides whether a new incoming call may run. Stateless.</summary>
internal static class CallAdmission
{
    /// <summary>Returns null, and counts the method, if the call is admitted; else its trailer.</summary>
    public static StatusTrailer? Refuse(
        ServerConnection owner, string methodName, MethodHandler? handler, in RequestHead request, int messageLength)
    {
        ServerSettings settings = owner.Settings;
        if (handler is null)
        {
            settings.Methods.LogUnimplemented(settings.Logger, methodName);
            return new StatusTrailer(settings.Methods.Unimplemented(methodName));
        }

        if (!handler.Offers(request.Codec))
        {
            return new StatusTrailer(StatusMapping.CodecUnknown(
                request.Codec ?? MarshallerProvider.Generated, handler.CodecNames));
        }

        if (request.Encoding is { } encoding and not MessageEncoding.Gzip and not MessageEncoding.Identity)
        {
            return new StatusTrailer(StatusMapping.EncodingUnknown(encoding));
        }

        if (request.IsMetadataTooLarge
            || (request.Metadata is not null
                && PreviousAttemptsHeader.MeasureBytes(request.Metadata) > settings.MaxMetadataBytes))
        {
            ReportMetadata(owner);
            return new StatusTrailer(
                StatusMapping.MetadataTooLarge("The request's metadata", settings.MaxMetadataBytes));
        }

        ConnectionCall? caller = request.Parent is { } parent ? owner.Connection.FindCaller(parent) : null;
        if (caller?.Depth >= settings.MaxCallbackDepth)
        {
            LimitEvents.Reached(
                settings.Logger,
                ServerLimits.DepthOption,
                settings.MaxCallbackDepth,
                $"{owner.PeerName}: a call was refused, because its chain of callbacks is too long.");
            return new StatusTrailer(
                StatusMapping.CallbacksTooDeep(ServerLimits.DepthOption, settings.MaxCallbackDepth));
        }

        long? limitBytes = MessageEncoding.WireLimit(settings.MaxReceiveMessageBytes, request.Encoding is not null);
        Status? refusal = messageLength > limitBytes
            ? StatusMapping.ReceivedTooLarge(messageLength, limitBytes.Value)
            : owner.TryAdmit(isOfChain: caller is not null);
        if (refusal is not { } why)
        {
            return null;
        }

        MessageTooLargeException.LogIfSo(settings.Logger, methodName, "server", why);
        return new StatusTrailer(why, IsNotProcessed: owner.IsRefusing);
    }

    /// <summary>Reports that a request's metadata exceeds the limit.</summary>
    public static void ReportMetadata(ServerConnection owner) => LimitEvents.Reached(
        owner.Settings.Logger,
        StatusMapping.MetadataOption,
        owner.Settings.MaxMetadataBytes,
        $"{owner.PeerName}: a call with more metadata was refused.");
}
