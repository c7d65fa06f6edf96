using Google.Protobuf.WellKnownTypes;
using Grpc.Core;

namespace RpcOverShm.Samples;

// snippet: service
/// <summary>
/// WCF: CalculatorService : ICalculatorDuplex. The fields need no lock: each session has an instance, which runs one
/// call at a time.
/// </summary>
internal sealed class CalculatorService(ShmSession session) : CalculatorDuplex.CalculatorDuplexBase
{
    // What a method answers is not sent, because its caller makes a one-way call. In WCF the methods return void.
    private static readonly Task<Empty> s_nothing = Task.FromResult(new Empty());

    // WCF: OperationContext.Current.GetCallbackChannel<ICalculatorDuplexCallback>(), whose operations are one-way, too.
    private readonly CalculatorDuplexCallback.CalculatorDuplexCallbackClient _callback =
        new(session.CreateOneWayInvoker());

    private double _result;
    private string _equation = "0";

    public override Task<Empty> Clear(Empty request, ServerCallContext context)
    {
        _callback.Equation(new EquationText { Eqn = $"{_equation} = {_result}" });
        _equation = $"{_result}";
        return s_nothing;
    }

    public override Task<Empty> AddTo(Operand request, ServerCallContext context)
    {
        _result += request.N;
        _equation += $" + {request.N}";
        _callback.Result(new Total { Result = _result });
        return s_nothing;
    }

    public override Task<Empty> SubtractFrom(Operand request, ServerCallContext context)
    {
        _result -= request.N;
        _equation += $" - {request.N}";
        _callback.Result(new Total { Result = _result });
        return s_nothing;
    }

    public override Task<Empty> MultiplyBy(Operand request, ServerCallContext context)
    {
        _result *= request.N;
        _equation += $" * {request.N}";
        _callback.Result(new Total { Result = _result });
        return s_nothing;
    }

    public override Task<Empty> DivideBy(Operand request, ServerCallContext context)
    {
        _result /= request.N;
        _equation += $" / {request.N}";
        _callback.Result(new Total { Result = _result });
        return s_nothing;
    }
}
// end snippet
