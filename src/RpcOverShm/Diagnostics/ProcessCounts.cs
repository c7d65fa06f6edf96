using System.Diagnostics.Metrics;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// The counts of this process, for its meter. They are counted whether anybody listens or not, and read when somebody
/// does. Thread-safe.
/// </summary>
internal static class ProcessCounts
{
    private static readonly UninterruptibleLock s_lock = new();
    private static readonly HashSet<ICountedConnection> s_connections = [];
    private static long s_borrowedBytes;

    static ProcessCounts()
    {
        Now(TelemetryNames.ClientActiveCalls, "{call}", "Outgoing calls that have not ended.", () =>
            [new(Sum(static one => one.OutgoingTwoWayCount))]);
        Now(TelemetryNames.ServerActiveCalls, "{call}", "Incoming calls that have not ended.", () =>
            [new(Sum(static one => one.IncomingCount))]);
        Now(TelemetryNames.QueuedCalls, "{call}", "Incoming calls that wait for their turn.", () =>
            [new(QueuedCalls.Value)]);
        Now(TelemetryNames.Sessions, "{session}", "Sessions of servers.", () => [new(Sessions.Value)]);
        Now(TelemetryNames.Connections, "{connection}", "Open connections.", () =>
        [
            Tagged(Sum(static one => one.IsAccepted ? 0 : 1), TelemetryNames.Side, "client"),
            Tagged(Sum(static one => one.IsAccepted ? 1 : 0), TelemetryNames.Side, "server"),
        ]);
        Now(TelemetryNames.RingUnread, "By", "Published bytes that their reader has not released.", () =>
            [new(Sum(static one => one.UnreadBytes))]);
        Total(TelemetryNames.RingGrowths, "{growth}", "Rings that have grown.", () => [new(RingGrowths.Value)]);
        Total(TelemetryNames.RingStalls, "{stall}", "Waits for space in a full ring of calls.", () =>
            [new(RingStalls.Value)]);
        Total(TelemetryNames.WakeUps, "{wakeup}", "System calls that woke a sleeping peer.", () =>
        [
            Tagged(FutexWakeUps.Value, TelemetryNames.How, "futex"),
            Tagged(DoorbellWakeUps.Value, TelemetryNames.How, "doorbell"),
        ]);
        Total(TelemetryNames.LostWakeUps, "{wakeup}", "Wake-ups that never came: a defect.", () =>
            [new(LostWakeUps.Value)]);
        Total(TelemetryNames.Spins, "{spin}", "Spins of more than about 2 µs.", () =>
        [
            Tagged(SpinsMet.Value, TelemetryNames.Result, "met"),
            Tagged(SpinsInVain.Value, TelemetryNames.Result, "vain"),
        ]);
        Total(TelemetryNames.TakeOvers, "{takeover}", "Event loops taken over from slow user code.", () =>
            [new(TakeOvers.Value)]);
        Total(TelemetryNames.PeerDeaths, "{peer}", "Connections whose peer went without a word.", () =>
            [new(PeerDeaths.Value)]);
        Total(TelemetryNames.PayloadsSent, "{message}", "Messages with a rented payload of 64 KiB or more.", () =>
        [
            Tagged(LentPayloads.Value, TelemetryNames.How, "lent"),
            Tagged(CopiedPayloads.Value, TelemetryNames.How, "copied"),
        ]);
        Now(TelemetryNames.PayloadsLent, "By", "Memory that peers have on loan and have not returned.", () =>
            [new(Sum(static one => one.LentBytes))]);
        Now(TelemetryNames.TopicSubscribers, "{stream}", "Response streams that read a topic.", () =>
            [new(TopicSubscribers.Value)]);
        Total(TelemetryNames.TopicMessages, "{message}", "Messages published to a topic with subscribers.", () =>
            [new(TopicMessages.Value)]);
        Now(TelemetryNames.PayloadsBorrowed, "By", "Payloads of peers that are not disposed.", () =>
            [new(Volatile.Read(ref s_borrowedBytes))]);
    }

    public static EventCount QueuedCalls { get; } = new();

    public static EventCount Sessions { get; } = new();

    public static EventCount TopicSubscribers { get; } = new();

    public static EventCount TopicMessages { get; } = new();

    public static EventCount RingGrowths { get; } = new();

    public static EventCount RingStalls { get; } = new();

    public static EventCount FutexWakeUps { get; } = new();

    public static EventCount DoorbellWakeUps { get; } = new();

    public static EventCount LostWakeUps { get; } = new();

    public static EventCount SpinsMet { get; } = new();

    public static EventCount SpinsInVain { get; } = new();

    public static EventCount TakeOvers { get; } = new();

    public static EventCount PeerDeaths { get; } = new();

    /// <summary>The messages whose payload the peer reads where it was written.</summary>
    public static EventCount LentPayloads { get; } = new();

    /// <summary>The messages whose payload was rented, is large enough to be lent, and was copied.</summary>
    public static EventCount CopiedPayloads { get; } = new();

    /// <summary>Adds a connection that begins, whose own counters are then read.</summary>
    public static void Add(ICountedConnection connection)
    {
        using (s_lock.Enter())
        {
            s_connections.Add(connection);
        }
    }

    /// <summary>Removes a connection that has ended. One that was not added is no error.</summary>
    public static void Remove(ICountedConnection connection)
    {
        using (s_lock.Enter())
        {
            s_connections.Remove(connection);
        }
    }

    /// <summary>Counts bytes of a peer that this process has on loan, also after the end of their connection.</summary>
    public static void AddBorrowed(long bytes) => Interlocked.Add(ref s_borrowedBytes, bytes);

    private static long Sum(Func<ICountedConnection, long> count)
    {
        ICountedConnection[] connections;
        using (s_lock.Enter())
        {
            connections = [.. s_connections];
        }

        return connections.Sum(count);
    }

    private static Measurement<long> Tagged(long value, string tag, string text) =>
        new(value, new KeyValuePair<string, object?>(tag, text));

    private static void Now(string name, string unit, string what, Func<IEnumerable<Measurement<long>>> read) =>
        Telemetry.Meter.CreateObservableUpDownCounter(name, read, unit, what);

    private static void Total(string name, string unit, string what, Func<IEnumerable<Measurement<long>>> read) =>
        Telemetry.Meter.CreateObservableCounter(name, read, unit, what);
}

/// <summary>A connection as the meter of the process reads it. Any thread may ask at any time.</summary>
internal interface ICountedConnection
{
    /// <summary>Whether this process accepted the connection as a server.</summary>
    bool IsAccepted { get; }

    int OutgoingTwoWayCount { get; }

    int IncomingCount { get; }

    /// <summary>The published bytes of this side that the peer has not released.</summary>
    long UnreadBytes { get; }

    /// <summary>The memory of this side that the peer has on loan.</summary>
    long LentBytes { get; }
}
