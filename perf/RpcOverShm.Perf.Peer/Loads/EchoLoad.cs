namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>Runs the callers of one slice of echoes side by side and adds up their results.</summary>
internal static class EchoLoad
{
    public static LoadResult Run(LoadOrder order, List<EchoCaller> callers)
    {
        long start = Stopwatch.GetTimestamp() + Ticks(order.LeadIn);
        var window = new EchoWindow(start, start + Ticks(order.Duration));
        foreach (EchoCaller caller in callers)
        {
            caller.Begin(order, window);
        }

        Task[] running = order.Caller == CallerKind.Blocking
            ? [.. callers.Select(RunOnThread)]
            : [.. callers.Select(caller => Task.Run(caller.RunAsync))];
        Task.WaitAll(running);
        ResourceSample used = ResourceSample.Take() - callers[0].UsedBefore;
        return Sum(callers, used);
    }

    private static LoadResult Sum(List<EchoCaller> callers, ResourceSample used)
    {
        var times = new LatencyHistogram();
        var uncorrected = new LatencyHistogram();
        foreach (EchoCaller caller in callers)
        {
            times.Merge(caller.Times);
            uncorrected.Merge(caller.Uncorrected);
        }

        long first = callers.Min(caller => caller.FirstTick);

        return new LoadResult
        {
            All = callers.Sum(caller => caller.Calls),
            FirstTick = first,
            ElapsedTicks = callers.Max(caller => caller.LastTick) - first,
            WrongBytes = callers.Sum(caller => caller.WrongBytes),
            Used = used,
            Times = times,
            Uncorrected = uncorrected,
        };
    }

    private static Task RunOnThread(EchoCaller caller)
    {
        var done = new TaskCompletionSource();
        var thread = new Thread(() => RunToEnd(caller, done)) { IsBackground = true, Name = "echo caller" };
        thread.Start();
        return done.Task;
    }

    private static void RunToEnd(EchoCaller caller, TaskCompletionSource done)
    {
        try
        {
            caller.Run();
            done.SetResult();
        }
        catch (Exception exception)
        {
            done.SetException(exception);
        }
    }

    private static long Ticks(TimeSpan time) => (long)(time.TotalSeconds * Stopwatch.Frequency);
}

/// <summary>The time window of a slice's clock, the same for all its callers.</summary>
internal readonly record struct EchoWindow(long StartTick, long EndTick);
