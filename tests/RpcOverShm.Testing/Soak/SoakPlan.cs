using System.Globalization;

namespace RpcOverShm.Testing.Soak;

/// <summary>
/// The events of one call, which follow from the seed of the run and the id of the call alone. So both ends know what
/// the other one has to send.
/// </summary>
public sealed class SoakPlan
{
    // The weights are cumulative, of 100.
    private static readonly (int UpTo, SoakShape Shape)[] s_shapes =
    [
        (19, SoakShape.Blocking), (38, SoakShape.Unary), (48, SoakShape.Batch), (61, SoakShape.ServerStream),
        (74, SoakShape.ClientStream), (88, SoakShape.Duplex), (94, SoakShape.OneWay), (100, SoakShape.Bytes),
    ];

    private static readonly (int UpTo, SoakShape Shape)[] s_callbackShapes =
    [
        (35, SoakShape.Blocking), (70, SoakShape.Unary), (80, SoakShape.ServerStream), (90, SoakShape.ClientStream),
        (100, SoakShape.Duplex),
    ];

    private static readonly (int UpTo, int Smallest, int Largest)[] s_sizes =
    [
        (6, 0, 0), (60, 1, 200), (82, 200, 4 << 10), (95, 4 << 10, 64 << 10), (100, 64 << 10, 1 << 20),
    ];

    private static readonly (int UpTo, SoakAct Act)[] s_acts =
    [
        (84, SoakAct.Nothing), (88, SoakAct.Yield), (93, SoakAct.Delay), (95, SoakAct.Block), (100, SoakAct.Refuse),
    ];

    private static readonly (int UpTo, SoakInterruption Interruption)[] s_interruptions =
    [
        (80, SoakInterruption.None), (87, SoakInterruption.Deadline), (94, SoakInterruption.Token),
        (100, SoakInterruption.Dispose),
    ];

    private const int MostMessages = 40;
    private const int MostBatched = 12;
    private const int CallsBackOneIn = 4;

    // A storm is about many calls.
    private const int StormSizes = 90; // of 100: up to 64 KiB
    private const int MostStormMessages = 8;

    // A stream of large messages is short, so that a drain does not take long for the bytes alone.
    private const int LargeMessage = 16 << 10;
    private const int MostLargeMessages = 3;

    private readonly ulong _seed;
    private readonly int _smallest;
    private readonly int _largest;

    public SoakPlan(ulong runSeed, ulong callId)
    {
        CallId = callId;
        var id = SoakCallId.Unpack(callId);
        _seed = SoakMessage.Mix(runSeed, callId);
        var random = new Random((int)(_seed >> 16));
        Shape = Pick(random, id.IsCallback ? s_callbackShapes : s_shapes);
        int size = random.Next(id.IsStorm ? StormSizes : 100);
        (_, _smallest, _largest) = Array.Find(s_sizes, row => size < row.UpTo);
        Messages = random.Next(_largest > LargeMessage ? MostLargeMessages : MostMessages);
        BatchCount = 1 + random.Next(MostBatched);
        Act = Pick(random, s_acts);
        ActMilliseconds = 1 + random.Next(4);
        Interruption = Pick(random, s_interruptions);
        InterruptionMilliseconds = random.Next(30);
        IsHeld = Interruption != SoakInterruption.None && random.Next(3) == 0;
        IsWaitForReady = random.Next(10) == 0;
        CallsBack = random.Next(CallsBackOneIn) == 0 && !id.IsCallback && Interruption == SoakInterruption.None
            && Shape is not (SoakShape.OneWay or SoakShape.Bytes);
        if (id.IsStorm)
        {
            // A method of a callback returns on the thread that is blocked for it: the pool may have no other one.
            Shape = id.IsCallback ? Shape : SoakShape.Blocking;
            Messages = Math.Min(Messages, MostStormMessages);
            Act = Act == SoakAct.Yield && !id.IsCallback ? SoakAct.Yield : SoakAct.Nothing;
            CallsBack = !id.IsCallback;
            IsWaitForReady = false;
        }

        if (id.IsStorm || Shape == SoakShape.OneWay)
        {
            Interruption = SoakInterruption.None;
            IsHeld = false;
        }
    }

    public ulong CallId { get; }

    /// <summary>The shape; the calls of a batch have their own plans, but are unary.</summary>
    public SoakShape Shape { get; }

    /// <summary>The number of messages of each stream of the call.</summary>
    public int Messages { get; }

    /// <summary>The number of calls of the batch that begins with this one.</summary>
    public int BatchCount { get; }

    /// <summary>The action of the method before it returns.</summary>
    public SoakAct Act { get; }

    public int ActMilliseconds { get; }

    public SoakInterruption Interruption { get; }

    /// <summary>The time of the interruption after the start of the call.</summary>
    public int InterruptionMilliseconds { get; }

    /// <summary>Whether the method waits for its token. The client then interrupts the call.</summary>
    public bool IsHeld { get; }

    public bool IsWaitForReady { get; }

    /// <summary>
    /// Whether the method makes a callback to its client before it ends, by the plan of
    /// <see cref="SoakCallId.Callback"/>. Only a call that is not interrupted has one, so the callback ends before it.
    /// </summary>
    public bool CallsBack { get; }

    /// <summary>Returns the size of a message.</summary>
    /// <param name="side">The side that sends the message.</param>
    /// <param name="sequence">The number of the message in its direction, from 0.</param>
    public int SizeOf(SoakSide side, int sequence) =>
        _smallest + (int)(SoakMessage.Mix(_seed, SeedOf(side, sequence)) % (ulong)(_largest - _smallest + 1));

    /// <summary>Returns the seed of a message's bytes.</summary>
    public ulong PatternOf(SoakSide side, int sequence) => SoakMessage.Mix(_seed, ~SeedOf(side, sequence));

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{(SoakCallId.Unpack(CallId).IsCallback ? "callback" : "call")} {SoakCallId.Unpack(CallId)}: {Shape}, "
        + $"{Messages} messages of {_smallest} to {_largest} bytes, {Act}, {Interruption} after "
        + $"{InterruptionMilliseconds} ms, held {IsHeld}, waits {IsWaitForReady}, calls back {CallsBack}");

    private static T Pick<T>(Random random, (int UpTo, T Value)[] weights)
    {
        int at = random.Next(100);
        return Array.Find(weights, row => at < row.UpTo).Value;
    }

    private static ulong SeedOf(SoakSide side, int sequence) => ((ulong)side << 32) | (uint)sequence;
}

public enum SoakShape : byte
{
    Blocking,
    Unary,
    Batch,
    ServerStream,
    ClientStream,
    Duplex,

    /// <summary>A byte stream of its own connection.</summary>
    Bytes,

    /// <summary>A unary call that is over for its client when it was sent.</summary>
    OneWay,
}

public enum SoakSide
{
    Client,
    Server,
}

/// <summary>The action of a method before it returns.</summary>
public enum SoakAct
{
    Nothing,
    Yield,
    Delay,

    /// <summary>Keeps its thread, which may be the reading one.</summary>
    Block,

    /// <summary>Fails with Aborted.</summary>
    Refuse,
}

/// <summary>The client's interruption of its call.</summary>
public enum SoakInterruption
{
    None,
    Deadline,
    Token,
    Dispose,
}
