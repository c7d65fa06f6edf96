using System.Globalization;
using Google.Protobuf.WellKnownTypes;
using Grpc.Core;

namespace RpcOverShm.Samples;

// snippet: callback
/// <summary>WCF's CallbackHandler: the client's side of the contract.</summary>
internal sealed class CallbackHandler(Action<string> show) : CalculatorDuplexCallback.CalculatorDuplexCallbackBase
{
    public override Task<Empty> Result(Total request, ServerCallContext context)
    {
        show(string.Create(CultureInfo.InvariantCulture, $"Result({request.Result})"));
        return Task.FromResult(new Empty());
    }

    public override Task<Empty> Equation(EquationText request, ServerCallContext context)
    {
        show($"Equation({request.Eqn})");
        return Task.FromResult(new Empty());
    }
}
// end snippet
