using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Calls;

/// <summary>A message is larger than this side may send or takes. Ends its call only.</summary>
/// <param name="bytes">Of the message.</param>
/// <param name="limitBytes">The most that are allowed; of one that came encoded, with what that may add.</param>
/// <param name="option">The option of the channel or server that says so.</param>
internal sealed class MessageTooLargeException(long bytes, long limitBytes, string option)
    : Exception($"The message has {bytes} bytes; {option} allows {limitBytes}.")
{
    public const string ReceiveOption = "MaxReceiveMessageSize";
    public const string SendOption = "MaxSendMessageSize";

    /// <summary>Logs the end of a call, if it was this. The side is client or server, for people.</summary>
    public static void LogIfSo(ILogger logger, string method, string side, in Status status) =>
        (status.DebugException as MessageTooLargeException)?.Log(logger, method, side);

    private void Log(ILogger logger, string method, string side) => DeferredLog.Write(
        logger, to => ShmLog.MessageTooLarge(to, method, bytes, limitBytes, option, side));
}
