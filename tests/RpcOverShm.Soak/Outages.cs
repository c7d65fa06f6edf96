namespace RpcOverShm.Soak;

/// <summary>
/// The times in which a fault concerns a client, or another process, or all. Any thread uses it.
/// </summary>
internal sealed class Outages
{
    private static readonly TimeSpan s_longest = TimeSpan.FromMinutes(1);

    private readonly Lock _gate = new();
    private readonly List<Outage> _outages = [];

    /// <summary>Begins an outage before its fault.</summary>
    /// <param name="instance">The number of the client that it concerns; null for all.</param>
    /// <param name="name">The name of the fault.</param>
    public Outage Begin(int? instance, string name)
    {
        lock (_gate)
        {
            var outage = new Outage(instance, name, Stopwatch.GetTimestamp());
            _outages.Add(outage);
            return outage;
        }
    }

    /// <summary>Ends an outage; the channels then have the time to recover.</summary>
    public void End(Outage outage)
    {
        lock (_gate)
        {
            outage.End = Stopwatch.GetTimestamp();
        }
    }

    /// <summary>Whether an outage explains what was asked and ended at these times.</summary>
    public bool Explains(int instance, long asked, long ended, TimeSpan recovery) =>
        SinceOutage(instance, asked, ended) <= recovery;

    /// <summary>
    /// Returns how long before something was asked the last outage had ended: zero if one lasted until then, or began
    /// before it ended. Null if no outage began in the minute before; none lasts that long.
    /// </summary>
    /// <param name="instance">The number of the client or process.</param>
    /// <param name="asked">The time at which it was asked.</param>
    /// <param name="ended">The time at which it ended.</param>
    /// <param name="isMeant">Selects outages; null for all.</param>
    public TimeSpan? SinceOutage(int instance, long asked, long ended, Predicate<Outage>? isMeant = null)
    {
        TimeSpan? least = null;
        lock (_gate)
        {
            // The newest are at the end.
            for (int i = _outages.Count - 1; i >= 0 && least != TimeSpan.Zero; i--)
            {
                Outage outage = _outages[i];
                if (Stopwatch.GetElapsedTime(outage.Start, asked) > s_longest)
                {
                    break;
                }

                bool isForIt = (outage.Instance ?? instance) == instance && isMeant?.Invoke(outage) != false;
                if (isForIt && outage.Start <= ended)
                {
                    long end = Math.Min(outage.End ?? asked, asked);
                    TimeSpan since = Stopwatch.GetElapsedTime(end, asked);
                    least = least < since ? least : since;
                }
            }
        }

        return least;
    }

    /// <summary>
    /// Returns the time between two times in which none of these was stopped or starved of the processor.
    /// </summary>
    public TimeSpan TimeRunning(ReadOnlySpan<int> instances, long from, long to)
    {
        long running = to - from;
        lock (_gate)
        {
            long covered = from;
            foreach (Outage outage in _outages)
            {
                // They are in the order of their starts.
                long end = Math.Min(outage.End ?? to, to);
                bool isStop = outage.Name is nameof(FaultKind.StopClient)
                    or nameof(FaultKind.StopServer)
                    or nameof(FaultKind.StarveProcessor);
                if (isStop && outage.Instance is { } instance && instances.Contains(instance) && end > covered)
                {
                    running -= Math.Max(0, end - Math.Max(outage.Start, covered));
                    covered = end;
                }
            }
        }

        return Stopwatch.GetElapsedTime(0, running);
    }
}

/// <summary>One outage.</summary>
internal sealed class Outage(int? instance, string name, long start)
{
    public int? Instance => instance;

    public string Name => name;

    public long Start => start;

    /// <summary>The end; null while it lasts.</summary>
    public long? End { get; set; }
}
