using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <summary>Why a call that begins is not to run. Holds nothing of a call.</summary>
internal static class CallAdmission
{
    /// <summary>Null when the call may run, and is counted as running; else how it ends.</summary>
    /// <param name="owner">Its connection.</param>
    /// <param name="methodName">The method that was asked for.</param>
    /// <param name="handler">The method; null when there is none of this name.</param>
    /// <param name="request">What the client says of the call.</param>
    /// <param name="messageLength">Of the request that came with it.</param>
    public static StatusTrailer? Refuse(
        ServerConnection owner, string methodName, MethodHandler? handler, in RequestHead request, int messageLength)
    {
        ServerSettings settings = owner.Settings;
        if (handler is null)
        {
            settings.Methods.LogUnimplemented(settings.Logger, methodName);
            return new StatusTrailer(settings.Methods.Unimplemented(methodName), Metadata: null);
        }

        if (!handler.Offers(request.Codec))
        {
            return new StatusTrailer(StatusMapping.CodecUnknown(request.Codec!, handler.CodecNames), Metadata: null);
        }

        if (request.Encoding is { } encoding and not MessageEncoding.Gzip and not MessageEncoding.Identity)
        {
            return new StatusTrailer(StatusMapping.EncodingUnknown(encoding), Metadata: null);
        }

        if (request.Metadata is not null
            && PreviousAttemptsHeader.MeasureBytes(request.Metadata) > settings.MaxMetadataBytes)
        {
            Status status = StatusMapping.MetadataTooLarge("The request's metadata", settings.MaxMetadataBytes);
            return new StatusTrailer(status, Metadata: null);
        }

        long? limitBytes = MessageEncoding.WireLimit(settings.MaxReceiveMessageBytes, request.Encoding is not null);
        Status? refusal = messageLength > limitBytes
            ? StatusMapping.ReceivedTooLarge(messageLength, limitBytes.Value)
            : owner.TryRun();
        if (refusal is not { } why)
        {
            return null;
        }

        MessageTooLargeException.LogIfSo(settings.Logger, methodName, "server", why);
        return new StatusTrailer(why, Metadata: null, owner.IsRefusing);
    }
}
