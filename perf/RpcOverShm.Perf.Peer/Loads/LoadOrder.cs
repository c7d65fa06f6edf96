using RpcOverShm.Perf.Peer.Control;

namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>One slice of load: what the client does, and for how long.</summary>
internal sealed record LoadOrder(LoadShape Shape, CallerKind Caller, int SizeBytes)
{
    /// <summary>Callers at a time.</summary>
    public int Callers { get; init; } = 1;

    /// <summary>Echo: how long to call before the clock starts, so that no sleeping thread is measured.</summary>
    public TimeSpan LeadIn { get; init; }

    /// <summary>Echo: how long to call on the clock.</summary>
    public TimeSpan Duration { get; init; }

    /// <summary>Pump: messages before the clock starts; at least 1.</summary>
    public long LeadInMessages { get; init; } = 1;

    /// <summary>Pump: messages on the clock, a multiple of <see cref="PumpSink.GroupOf"/>.</summary>
    public long Messages { get; init; }

    public static LoadOrder Read(LineReader line) =>
        new((LoadShape)line.NextNumber(), (CallerKind)line.NextNumber(), (int)line.NextNumber())
        {
            Callers = (int)line.NextNumber(),
            LeadIn = TimeSpan.FromTicks(line.NextNumber()),
            Duration = TimeSpan.FromTicks(line.NextNumber()),
            LeadInMessages = line.NextNumber(),
            Messages = line.NextNumber(),
        };

    public void Write(LineWriter line) => line
        .Add((long)Shape)
        .Add((long)Caller)
        .Add(SizeBytes)
        .Add(Callers)
        .Add(LeadIn.Ticks)
        .Add(Duration.Ticks)
        .Add(LeadInMessages)
        .Add(Messages);
}
