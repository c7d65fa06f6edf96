using System.Globalization;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>The events of one call on both sides, and the statuses that they allow.</summary>
internal sealed record CallPlan
{
    private const string AnswerKey = "answer";

    // Never reached in a test: only the timer matters.
    private static readonly TimeSpan s_neverReached = TimeSpan.FromHours(1);

    /// <summary>Metadata of a call that succeeds.</summary>
    public static Metadata SuccessHeaders => new() { { AnswerKey, nameof(CallAnswer.Success) } };

    public required CallShape Shape { get; init; }

    public required CallAnswer Answer { get; init; }

    public required CallInterruption Interruption { get; init; }

    /// <summary>The time of the interruption; negative for an interruption before the call.</summary>
    public required int DelayMilliseconds { get; init; }

    public required int Bytes { get; init; }

    public required int Messages { get; init; }

    /// <summary>Whether the call has a deadline that is never reached.</summary>
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

            // Mostly small, sometimes larger than the window.
            Bytes = 1 + (random.Next(20) == 0 ? random.Next(200 << 10) : random.Next(2000)),
            Messages = random.Next(1, 5),
            HasLongDeadline = random.Next(2) == 0,
        };
    }

    public static CallAnswer AnswerFor(ServerCallContext context) => Enum.Parse<CallAnswer>(
        context.RequestHeaders.GetValue(AnswerKey) ?? throw new InvalidOperationException("The call has no plan."));

    public CallOptions ToOptions(CancellationToken token)
    {
        TimeSpan? timeout = Interruption == CallInterruption.Deadline
            ? TimeSpan.FromMilliseconds(DelayMilliseconds)
            : HasLongDeadline ? s_neverReached : null;
        return new CallOptions(
            new Metadata { { AnswerKey, Answer.ToString() } }, DateTime.UtcNow + timeout, token);
    }

    /// <summary>Whether the call may end with the status; the interruption races with the response.</summary>
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

/// <summary>The end of a handler.</summary>
internal enum CallAnswer
{
    Success,

    /// <summary>Succeeds later and ignores its token.</summary>
    LateSuccess,

    /// <summary>Throws an RpcException.</summary>
    Refusal,

    /// <summary>Throws another exception.</summary>
    Fault,

    /// <summary>Throws another exception later and ignores its token.</summary>
    LateFault,

    /// <summary>Waits for its token.</summary>
    Hold,
}

/// <summary>The caller's interruption of its call.</summary>
internal enum CallInterruption
{
    None,

    /// <summary>The call's token is cancelled.</summary>
    Token,

    /// <summary>The call is disposed.</summary>
    Dispose,

    /// <summary>The call has a short deadline.</summary>
    Deadline,

    /// <summary>The token of its reads is cancelled.</summary>
    ReadToken,
}

internal enum CallShape
{
    Blocking,
    Unary,
    ServerStream,
    ClientStream,
    Duplex,
}
