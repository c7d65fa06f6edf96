using System.Globalization;
using Google.Protobuf.WellKnownTypes;
using Grpc.Core;

namespace RpcOverShm.Samples;

// snippet: service
/// <summary>WCF's CalculatorService with InstanceContextMode.PerSession: the instance of a session is its item.</summary>
internal sealed class CalculatorService : CalculatorDuplex.CalculatorDuplexBase
{
    public override async Task<Empty> Clear(Empty request, ServerCallContext context)
    {
        Calculator calculator = Calculator.Of(context);
        await calculator.Callback.EquationAsync(new EquationText { Eqn = $"{calculator.Equation} = {calculator.Result}" });
        calculator.Clear();
        return request;
    }

    public override Task<Empty> AddTo(Operand request, ServerCallContext context) =>
        Calculate(context, "+", request.N, (result, n) => result + n);

    public override Task<Empty> SubtractFrom(Operand request, ServerCallContext context) =>
        Calculate(context, "-", request.N, (result, n) => result - n);

    public override Task<Empty> MultiplyBy(Operand request, ServerCallContext context) =>
        Calculate(context, "*", request.N, (result, n) => result * n);

    public override Task<Empty> DivideBy(Operand request, ServerCallContext context) =>
        Calculate(context, "/", request.N, (result, n) => result / n);

    private static async Task<Empty> Calculate(
        ServerCallContext context, string sign, double n, Func<double, double, double> operation)
    {
        Calculator calculator = Calculator.Of(context);
        calculator.Apply(sign, n, operation);
        await calculator.Callback.EqualsAsync(new Total { Result = calculator.Result });
        return new Empty();
    }
}
// end snippet

// snippet: session
/// <summary>The state of one session, and its OperationContext.Current.GetCallbackChannel.</summary>
internal sealed class Calculator(ShmSession session)
{
    public double Result { get; private set; }

    public string Equation { get; private set; } = "0";

    public CalculatorDuplexCallback.CalculatorDuplexCallbackClient Callback { get; } =
        new(session.CreateCallInvoker());

    public static Calculator Of(ServerCallContext context)
    {
        ShmSession session = context.GetShmSession();
        lock (session.Items)
        {
            return (Calculator)(session.Items.TryGetValue(typeof(Calculator), out object? known)
                ? known!
                : session.Items[typeof(Calculator)] = new Calculator(session));
        }
    }

    public void Apply(string sign, double n, Func<double, double, double> operation)
    {
        Result = operation(Result, n);
        Equation += string.Create(CultureInfo.InvariantCulture, $" {sign} {n}");
    }

    public void Clear()
    {
        Result = 0;
        Equation = "0";
    }
}
// end snippet
