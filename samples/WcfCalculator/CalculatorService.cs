using Google.Protobuf.WellKnownTypes;
using Grpc.Core;

namespace RpcOverShm.Samples;

// snippet: service
/// <summary>
/// WCF: [ServiceBehavior(InstanceContextMode = PerSession)] CalculatorService : ICalculatorDuplex. The session keeps
/// what the instance had. WCF runs one call of a session at a time; here a lock does.
/// </summary>
internal sealed class CalculatorService : CalculatorDuplex.CalculatorDuplexBase
{
    public override Task<Empty> Clear(Empty request, ServerCallContext context) => Calculator.In(context, me =>
    {
        me.Callback.Equation(new EquationText { Eqn = $"{me.Equation} = {me.Result}" });
        me.Equation = $"{me.Result}";
    });

    public override Task<Empty> AddTo(Operand request, ServerCallContext context) => Calculator.In(context, me =>
    {
        me.Result += request.N;
        me.Equation += $" + {request.N}";
        me.Callback.Result(new Total { Result = me.Result });
    });

    public override Task<Empty> SubtractFrom(Operand request, ServerCallContext context) => Calculator.In(context, me =>
    {
        me.Result -= request.N;
        me.Equation += $" - {request.N}";
        me.Callback.Result(new Total { Result = me.Result });
    });

    public override Task<Empty> MultiplyBy(Operand request, ServerCallContext context) => Calculator.In(context, me =>
    {
        me.Result *= request.N;
        me.Equation += $" * {request.N}";
        me.Callback.Result(new Total { Result = me.Result });
    });

    public override Task<Empty> DivideBy(Operand request, ServerCallContext context) => Calculator.In(context, me =>
    {
        me.Result /= request.N;
        me.Equation += $" / {request.N}";
        me.Callback.Result(new Total { Result = me.Result });
    });
}
// end snippet

// snippet: session
/// <summary>The state of a session. WCF: OperationContext.Current.GetCallbackChannel&lt;...&gt;().</summary>
internal sealed class Calculator(ShmSession session)
{
    public double Result { get; set; }

    public string Equation { get; set; } = "0";

    public CalculatorDuplexCallback.CalculatorDuplexCallbackClient Callback { get; } = new(session.CreateCallInvoker());

    public static Task<Empty> In(ServerCallContext context, Action<Calculator> calculate)
    {
        ShmSession session = context.GetShmSession();
        var me = (Calculator)session.Items.GetOrAdd(typeof(Calculator), _ => new Calculator(session))!;
        lock (me)
        {
            calculate(me);
        }

        return Task.FromResult(new Empty());
    }
}
// end snippet
