using Google.Protobuf.WellKnownTypes;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>The client's side: shows each total that the server calls back with.</summary>
internal sealed class TotalView : CalculatorDuplexCallback.CalculatorDuplexCallbackBase
{
    public override Task<Empty> Result(Total request, ServerCallContext context)
    {
        Console.WriteLine($"The total is {request.Result}.");
        return Task.FromResult(new Empty());
    }
}
