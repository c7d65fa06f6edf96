using System.Globalization;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>What happens to one call, on both sides, and how it may end therefore.</summary>
internal sealed record CallPlan
{
    private const string AnswerKey = "answer";

    // Long after any test: only its timer is of interest.
    private static readonly TimeSpan s_neverReached = TimeSpan.FromHours(1);

    /// <summary>Metadata of a call that is to end well.</summary>
    public static Metadata SuccessHeaders => new() { { AnswerKey, nameof(CallAnswer.Success) } };

    public required CallShape Shape { get; init; }

    public required CallAnswer Answer { get; init; }

    public required CallInterruption Interruption { get; init; }

    /// <summary>When the interruption comes; less than zero for before the call.</summary>
    public required int DelayMilliseconds { get; init; }

    public required int Bytes { get; init; }

    public required int Messages { get; init; }

    /// <summary>Whether a call that is not interrupted by its deadline has one.</summary>
    public required bool HasLongDeadline { get; init; }

    public static CallPlan Next(Random random)
    {
        CallShape shape = Pick<CallShape>(random);
        CallInterruption interruption = random.Next(3) == 0 ? CallInterruption.None : Pick<CallInterruption>(random);
        bool isUsable = interruption switch
        {
            CallInterruption.Dispose => shape != CallShape.Blocking,
            CallInterruption.ReadToken => shape is CallShape.ServerStream or CallShape.Duplex,
            _ => true,
        };
        interruption = isUsable ? interruption : CallInterruption.Token;
        CallAnswer answer = Pick<CallAnswer>(random);
        return new CallPlan
        {
            Shape = shape,
            Answer = answer == CallAnswer.Hold && interruption == CallInterruption.None ? CallAnswer.Success : answer,
            Interruption = interruption,
            DelayMilliseconds = random.Next(-1, 4),

            // Mostly small, now and then beyond the window.
            Bytes = 1 + (random.Next(20) == 0 ? random.Next(200 << 10) : random.Next(2000)),
            Messages = random.Next(1, 5),
            HasLongDeadline = random.Next(2) == 0,
        };
    }

    public static CallAnswer AnswerFor(ServerCallContext context) => Enum.Parse<CallAnswer>(
        context.RequestHeaders.GetValue(AnswerKey) ?? throw new InvalidOperationException("The call has no plan."));

    /// <summary>Metadata, deadline and token of the call.</summary>
    public CallOptions ToOptions(CancellationToken token)
    {
        TimeSpan? timeout = Interruption == CallInterruption.Deadline
            ? TimeSpan.FromMilliseconds(DelayMilliseconds)
            : HasLongDeadline ? s_neverReached : null;
        return new CallOptions(
            new Metadata { { AnswerKey, Answer.ToString() } }, DateTime.UtcNow + timeout, token);
    }

    /// <summary>The statuses that the call may end with: an interruption and the answer race.</summary>
    public bool Allows(StatusCode status)
    {
        StatusCode? answered = Answer switch
        {
            CallAnswer.Success or CallAnswer.LateSuccess => StatusCode.OK,
            CallAnswer.Refusal => StatusCode.Aborted,
            CallAnswer.Fault or CallAnswer.LateFault => StatusCode.Unknown,
            _ => null,
        };
        StatusCode? interrupted = Interruption switch
        {
            CallInterruption.None => null,
            CallInterruption.Deadline => StatusCode.DeadlineExceeded,
            _ => StatusCode.Cancelled,
        };
        return status == answered || status == interrupted;
    }

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{Shape}, {Answer}, {Interruption} after {DelayMilliseconds} ms, {Messages} of {Bytes} bytes");

    private static T Pick<T>(Random random)
        where T : struct, Enum
    {
        T[] values = Enum.GetValues<T>();
        return values[random.Next(values.Length)];
    }
}

/// <summary>What a handler does in the end.</summary>
internal enum CallAnswer
{
    /// <summary>Ends well.</summary>
    Success,

    /// <summary>Ends well some time later, whatever its token says.</summary>
    LateSuccess,

    /// <summary>Throws an RpcException.</summary>
    Refusal,

    /// <summary>Throws another exception.</summary>
    Fault,

    /// <summary>Throws another exception some time later, whatever its token says.</summary>
    LateFault,

    /// <summary>Waits for its token.</summary>
    Hold,
}

/// <summary>What the caller does to its call before it has ended.</summary>
internal enum CallInterruption
{
    None,

    /// <summary>Its token is cancelled.</summary>
    Token,

    /// <summary>It is disposed.</summary>
    Dispose,

    /// <summary>It has a deadline that is soon.</summary>
    Deadline,

    /// <summary>The token of its reads is cancelled.</summary>
    ReadToken,
}

/// <summary>The ways to make a call.</summary>
internal enum CallShape
{
    Blocking,
    Unary,
    ServerStream,
    ClientStream,
    Duplex,
}
