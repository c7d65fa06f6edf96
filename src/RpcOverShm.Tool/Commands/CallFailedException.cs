using Grpc.Core;

namespace RpcOverShm.Tool.Commands;

/// <summary>The end of a call with another status than OK, with the details of the status as JSON.</summary>
internal sealed class CallFailedException(RpcException call, IReadOnlyList<string> details)
    : Exception(call.Message, call)
{
    public RpcException Call => call;

    public IReadOnlyList<string> Details => details;
}
