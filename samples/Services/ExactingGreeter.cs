using Google.Protobuf.WellKnownTypes;
using Google.Rpc;

namespace RpcOverShm.Samples;

/// <summary>A service that reports an invalid request with machine-readable error details.</summary>
internal sealed class ExactingGreeter : Greeter.GreeterBase
{
    public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
    {
        if (request.Name.Length > 0)
        {
            return Task.FromResult(new HelloReply { Message = $"Hello {request.Name}" });
        }

        var violation = new BadRequest.Types.FieldViolation { Field = "name", Description = "It is empty." };
        throw new Google.Rpc.Status
        {
            Code = (int)Code.InvalidArgument,
            Message = "Nobody to greet.",
            Details = { Any.Pack(new BadRequest { FieldViolations = { violation } }) },
        }.ToRpcException();
    }
}
