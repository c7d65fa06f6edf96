using RpcOverShm.Perf.Peer.Control;
using RpcOverShm.Perf.Peer.Recording;

namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>What one slice of load came to, as its client saw it.</summary>
internal sealed record LoadResult
{
    /// <summary>Calls or messages with the lead-in: what the server must have served.</summary>
    public required long All { get; init; }

    /// <summary>The time on the clock, in <see cref="System.Diagnostics.Stopwatch"/> ticks.</summary>
    public required long ElapsedTicks { get; init; }

    /// <summary>Bytes that came back, or came, wrong; those of the lead-in included.</summary>
    public required long WrongBytes { get; init; }

    /// <summary>What this process used while the clock ran.</summary>
    public required ResourceSample Used { get; init; }

    /// <summary>Times of calls, or between messages, in ticks.</summary>
    public required LatencyHistogram Times { get; init; }

    /// <summary>Calls or messages on the clock.</summary>
    public long Measured => Times.Count;

    public static LoadResult Read(LineReader line) => new()
    {
        All = line.NextNumber(),
        ElapsedTicks = line.NextNumber(),
        WrongBytes = line.NextNumber(),
        Used = ResourceSample.Read(line),
        Times = LatencyHistogram.Read(line),
    };

    public void Write(LineWriter line)
    {
        line.Add(All).Add(ElapsedTicks).Add(WrongBytes);
        Used.Write(line);
        Times.Write(line);
    }
}
