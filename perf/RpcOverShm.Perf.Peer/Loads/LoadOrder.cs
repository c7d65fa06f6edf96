using System.Text.Json.Serialization;

namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>One slice of load: the client's work, and its length.</summary>
internal sealed record LoadOrder(LoadShape Shape, CallerKind Caller, int SizeBytes)
{
    /// <summary>In <see cref="ReplyBytes"/>: the answer is the request itself.</summary>
    public const int SameAsRequest = -1;

    /// <summary>In <see cref="SizeBytes"/>: sizes both ways come from <see cref="ExchangeMix"/>.</summary>
    public const int Mixed = -1;

    /// <summary>Callers at a time.</summary>
    public int Callers { get; init; } = 1;

    /// <summary>Echo: the connections that the callers take in turn; 1 is the first one alone.</summary>
    public int Connections { get; init; } = 1;

    /// <summary>Echo and batch: the size of each answer.</summary>
    public int ReplyBytes { get; init; } = SameAsRequest;

    /// <summary>Echo and backlog: the processor time that the server uses for each answer; 0 for none.</summary>
    public int WorkMicroseconds { get; init; }

    /// <summary>
    /// Echo: calls of a method that blocks for <see cref="ServedWork.Blocked"/>, in each slice another one that the
    /// server has never run before.
    /// </summary>
    public bool Blocks { get; init; }

    /// <summary>Echo: the silence before each call; zero is none.</summary>
    public TimeSpan Gap { get; init; }

    /// <summary>Echo: calls a second on a fixed schedule, by all callers together; 0 is a closed loop.</summary>
    public long OfferedPerSecond { get; init; }

    /// <summary>
    /// Echo: the slice also ends after this many calls of each caller on the clock; 0 for no such end. Batch: the calls
    /// of a batch. Backlog: all its calls.
    /// </summary>
    public long Calls { get; init; }

    /// <summary>
    /// Echo and batch: the time of calls before the clock starts, so that no sleeping thread is measured.
    /// </summary>
    public TimeSpan LeadIn { get; init; }

    /// <summary>Echo and batch: the time of calls on the clock.</summary>
    public TimeSpan Duration { get; init; }

    /// <summary>Pump and drain: messages before the clock starts; at least 1.</summary>
    public long LeadInMessages { get; init; } = 1;

    /// <summary>Pump: the number of messages for each reading of the clock.</summary>
    public int Group { get; init; } = 1;

    /// <summary>Pump and drain: messages on the clock; for a pump a multiple of <see cref="Group"/>.</summary>
    public long Messages { get; init; }

    public static LoadOrder Read(LineReader line) =>
        new((LoadShape)line.NextNumber(), (CallerKind)line.NextNumber(), (int)line.NextNumber())
        {
            Callers = (int)line.NextNumber(),
            ReplyBytes = (int)line.NextNumber(),
            Gap = TimeSpan.FromTicks(line.NextNumber()),
            OfferedPerSecond = line.NextNumber(),
            Calls = line.NextNumber(),
            LeadIn = TimeSpan.FromTicks(line.NextNumber()),
            Duration = TimeSpan.FromTicks(line.NextNumber()),
            LeadInMessages = line.NextNumber(),
            Messages = line.NextNumber(),
            Group = (int)line.NextNumber(),
            Connections = (int)line.NextNumber(),
            WorkMicroseconds = (int)line.NextNumber(),
            Blocks = line.NextNumber() != 0,
        };

    public void Write(LineWriter line) => line
        .Add((long)Shape)
        .Add((long)Caller)
        .Add(SizeBytes)
        .Add(Callers)
        .Add(ReplyBytes)
        .Add(Gap.Ticks)
        .Add(OfferedPerSecond)
        .Add(Calls)
        .Add(LeadIn.Ticks)
        .Add(Duration.Ticks)
        .Add(LeadInMessages)
        .Add(Messages)
        .Add(Group)
        .Add(Connections)
        .Add(WorkMicroseconds)
        .Add(Blocks ? 1 : 0);
}

/// <summary>The kind of load that a client puts on its server.</summary>
internal enum LoadShape
{
    /// <summary>Requests that are answered, one at a time for each caller.</summary>
    Echo,

    /// <summary>Messages one way, from the server to the client.</summary>
    Pump,

    /// <summary>
    /// Messages one way, from the client to the server, which confirms at the end that it has received all.
    /// </summary>
    Drain,

    /// <summary>Requests that are sent together, and all their answers awaited.</summary>
    Batch,

    /// <summary>Requests that are started one after another without waiting, each answer awaited.</summary>
    Backlog,
}

/// <summary>The way in which a client waits.</summary>
internal enum CallerKind
{
    /// <summary>
    /// A thread of its own that blocks in the call. Byte arms: the server's thread blocks in its read too.
    /// </summary>
    [JsonStringEnumMemberName("blocking")]
    Blocking,

    /// <summary>A task on the thread pool that awaits. Byte arms: the server awaits its read too.</summary>
    [JsonStringEnumMemberName("async")]
    Async,
}
