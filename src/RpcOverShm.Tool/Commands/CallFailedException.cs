using Grpc.Core;

namespace RpcOverShm.Tool.Commands;

/// <summary>The end of a call with another status than OK, with the details of the status as JSON.</summary>
/// <param name="call">The failure.</param>
/// <param name="details">The details, each as JSON.</param>
/// <param name="isVerbose">Whether a text shows the trailers, too.</param>
internal sealed class CallFailedException(RpcException call, IReadOnlyList<string> details, bool isVerbose)
    : Exception(call.Message, call)
{
    public RpcException Call => call;

    public IReadOnlyList<string> Details => details;

    public bool IsVerbose => isVerbose;
}
