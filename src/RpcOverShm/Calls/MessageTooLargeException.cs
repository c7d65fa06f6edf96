using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Calls;

/// <summary>
/// The exception for a message over the limit that an option of this side sets. It ends only the message's call. The
/// limit of an encoded message includes the encoding's overhead.
/// </summary>
internal sealed class MessageTooLargeException(long bytes, long limitBytes, string option)
    : Exception($"The message has {bytes} bytes; {option} allows {limitBytes}.")
{
    public const string ReceiveOption = "MaxReceiveMessageSize";
    public const string SendOption = "MaxSendMessageSize";

    // The sides whose options set a limit.
    public const string OfClient = "client";
    public const string OfServer = "server";

    /// <summary>Returns the rest of a status detail: the sizes, the option, and what to do.</summary>
    public string Explain(string side) =>
        $"The message has {bytes} bytes; {option} of the {side} allows {limitBytes}. Raise it there, or send the data "
        + "as a stream of smaller messages.";

    /// <summary>Logs a call's end if the status has such an exception.</summary>
    public static void LogIfSo(ILogger logger, string method, string side, in Status status) =>
        (status.DebugException as MessageTooLargeException)?.Log(logger, method, side);

    private void Log(ILogger logger, string method, string side)
    {
        LimitEvents.Count(option);
        DeferredLog.Write(logger, to => ShmLog.MessageTooLarge(to, method, bytes, limitBytes, option, side));
    }
}
