using System.Collections.Concurrent;
using System.ComponentModel;

namespace RpcOverShm.Soak;

/// <summary>
/// Injects faults by weights and a seed, several at a time, at most one for each process; ends each of them.
/// </summary>
internal sealed class Faults(
    SoakSettings settings,
    SoakFleet fleet,
    Outages outages,
    Outages faultTimes,
    Recoveries recoveries,
    Findings findings)
{
    private const int ShortestPause = 20;
    private const int LongestPause = 500;
    private const int ShortestStop = 10;
    private const int LongestStop = 3000;
    private const int LongestLack = 3000;
    private const int LongestGrace = 1500;
    private const int WeakNice = 19;
    private const ulong PageBytes = 4096;

    // The last server has the last third of the run for leaks to show.
    private const double LastServerShare = 1.0 / 3;

    private readonly Random _random = new(settings.Seed);
    private readonly ConcurrentDictionary<FaultKind, int> _counts = new();
    private readonly List<Task> _running = [];

    public IReadOnlyDictionary<FaultKind, int> Counts => _counts;

    /// <summary>The number of processes that ended while they lacked something.</summary>
    public int EndedByLack { get; private set; }

    /// <summary>
    /// Injects faults for the length of the run, or until a promise is found broken; returns when the last one is over.
    /// </summary>
    public async Task RunAsync()
    {
        try
        {
            await BeginAllAsync();
        }
        finally
        {
            // Also after a failure: no process stays stopped or limited.
            await Task.WhenAll(_running);
        }

        await ReplaceEndedAsync();
    }

    private async Task BeginAllAsync()
    {
        long start = Stopwatch.GetTimestamp();
        TimeSpan lastReplacement = settings.Length * (1 - LastServerShare);
        while (Stopwatch.GetElapsedTime(start) is var elapsed && elapsed < settings.Length && findings.Count == 0)
        {
            await Task.Delay(_random.Next(ShortestPause, LongestPause));
            HangWatchdog.Renew();
            await ReplaceEndedAsync();
            FaultKind kind = FaultWeights.Pick(_random);
            if (elapsed < lastReplacement || !FaultWeights.ReplacesServer(kind))
            {
                Begin(kind, elapsed > lastReplacement);
            }

            _running.RemoveAll(task => task.IsCompletedSuccessfully);
        }
    }

    private void Begin(FaultKind kind, bool isServerKept)
    {
        SoakProcess? target = PickTarget(kind, isServerKept);
        if (target is null)
        {
            return;
        }

        target.IsBusy = true;
        target.History.Enqueue(kind);
        recoveries.OnFaultBegins();
        _counts.AddOrUpdate(kind, 1, (_, count) => count + 1);

        // All random numbers are drawn here, in the order of the faults, so that a seed gives the same faults again.
        var random = new Random(_random.Next());
        _running.Add(RunOneAsync(kind, target, random));
    }

    private SoakProcess? PickTarget(FaultKind kind, bool isServerKept)
    {
        int at = _random.Next(1 << 20);
        SoakProcess[] clients =
        [
            .. fleet.Clients.Where(client => !client.IsBusy
                && (client != fleet.LongLived || (kind != FaultKind.KillClient && !FaultWeights.MayEndProcess(kind)))),
        ];
        bool isServer = kind switch
        {
            FaultKind.KillServer or FaultKind.StopServer or FaultKind.RestartServer => true,
            FaultKind.KillClient or FaultKind.StopClient or FaultKind.ReopenChannel => false,
            _ => at % 3 == 0 && !(isServerKept && FaultWeights.MayEndProcess(kind)),
        };
        SoakProcess? target = isServer
            ? fleet.Server.IsBusy ? null : fleet.Server
            : clients.Length == 0 ? null : clients[at % clients.Length];
        bool isPossible = target is not null
            && (kind != FaultKind.StarveThreads || target.HasThreadQuota)
            && (!FaultWeights.MayEndProcess(kind) || target.HasAnswered);
        return isPossible ? target : null;
    }

    private async Task RunOneAsync(FaultKind kind, SoakProcess target, Random random)
    {
        await Task.Yield();
        Outage time = faultTimes.Begin(target.Peer.Id, kind.ToString());
        try
        {
            await RunFaultAsync(kind, target, random);
        }
        catch (Exception exception) when (target.WasStarved && HasEnded(target, exception))
        {
            // It ended during the fault; it is replaced by the next round.
        }
        catch (Exception exception)
        {
            findings.Add("fault", $"{kind} of {target}: {exception}");
        }
        finally
        {
            faultTimes.End(time);
            target.IsBusy = false;
            recoveries.OnFaultEnds(kind.ToString(), fleet.Clients.Select(client => client.Instance));
        }
    }

    // The kernel knows it before this process has noticed it.
    // A process that ends closes its standard input before it has exited.
    private static bool HasEnded(SoakProcess target, Exception exception) =>
        target.Peer.Exited.IsCompleted
        || exception is IOException or Win32Exception { NativeErrorCode: NativeProcess.NoSuchProcess };

    private Task RunFaultAsync(FaultKind kind, SoakProcess target, Random random)
    {
        var lack = TimeSpan.FromMilliseconds(random.Next(ShortestStop, LongestLack));
        return kind switch
        {
            FaultKind.KillClient => fleet.ReplaceClientAsync(target, random),
            FaultKind.KillServer => WithOutageAsync(null, kind, fleet.KillServerAsync),
            FaultKind.RestartServer => WithOutageAsync(
                null, kind, () => fleet.RestartServerAsync(TimeSpan.FromMilliseconds(random.Next(LongestGrace)))),
            FaultKind.StopClient or FaultKind.StopServer => StopAsync(target, random),
            FaultKind.ReopenChannel => target.DoAsync("reopen"),
            FaultKind.StarveProcessor => StarveProcessorAsync(target, lack),
            FaultKind.StarveDescriptors => LackAsync(target, kind, lack, () =>
            {
                // The limit is about the number of a descriptor, so it counts the free ones below the highest.
                int open = ProcessResources.CountDescriptors("", target.Peer.Id);
                return Lower(target, NativeProcess.LimitDescriptors, (ulong)(open + random.Next(6)));
            }),
            FaultKind.StarveMemory => LackAsync(target, kind, lack, () =>
            {
                ulong more = (ulong)random.Next(4 << 20);
                return Lower(target, NativeProcess.LimitAddressSpace, AddressSpaceOf(target) + more);
            }),
            FaultKind.StarveThreads => LackAsync(target, kind, lack, () =>
            {
                target.Quota.Limit(random.Next(3));
                return target.Quota.Lift;
            }),
            _ => throw new InvalidOperationException($"There is no fault {kind}."),
        };
    }

    private async Task WithOutageAsync(int? instance, FaultKind kind, Func<Task> fault)
    {
        Outage outage = outages.Begin(instance, kind.ToString());
        try
        {
            await fault();
        }
        finally
        {
            outages.End(outage);
        }
    }

    // A stopped process is no dead one: no call of the others may fail for it.
    private static async Task StopAsync(SoakProcess target, Random random)
    {
        NativeProcess.Signal(target.Peer.Id, NativeProcess.SignalStop);
        try
        {
            // Mostly short, sometimes seconds.
            double share = Math.Pow(random.NextDouble(), 3);
            await Task.Delay(ShortestStop + (int)(share * (LongestStop - ShortestStop)));
        }
        finally
        {
            NativeProcess.Signal(target.Peer.Id, NativeProcess.SignalContinue);
        }
    }

    private static async Task StarveProcessorAsync(SoakProcess target, TimeSpan time)
    {
        await target.DoAsync(string.Create(
            CultureInfo.InvariantCulture, $"spin {2 * Environment.ProcessorCount} {time.TotalMilliseconds:0}"));
        NativeProcess.SetNice(target.Peer.Id, WeakNice);
        try
        {
            await Task.Delay(time);
        }
        finally
        {
            NativeProcess.SetNice(target.Peer.Id, 0);
        }
    }

    private async Task LackAsync(SoakProcess target, FaultKind kind, TimeSpan time, Func<Action> limit)
    {
        target.WasStarved = true;
        await WithOutageAsync(target.IsServer ? null : target.Instance, kind, async () =>
        {
            Action lift = limit();
            await Task.Delay(time);
            if (!target.Peer.Exited.IsCompleted)
            {
                lift();
                await target.CheckPoolAsync();
            }
        });
    }

    private static Action Lower(SoakProcess target, int resource, ulong limit)
    {
        Limit before = NativeProcess.LowerLimit(target.Peer.Id, resource, limit);
        return () => NativeProcess.SetLimit(target.Peer.Id, resource, before);
    }

    private static ulong AddressSpaceOf(SoakProcess target) => PageBytes * ulong.Parse(
        File.ReadAllText($"/proc/{target.Peer.Id}/statm").Split(' ')[0], CultureInfo.InvariantCulture);

    /// <summary>Replaces the processes that ended by themselves, which only a lack excuses.</summary>
    private async Task ReplaceEndedAsync()
    {
        foreach (SoakProcess process in fleet.Clients.Append(fleet.Server))
        {
            if (process.IsEnding || process.IsBusy || !process.Peer.Exited.IsCompleted)
            {
                continue;
            }

            if (process.WasStarved && IsEndByRuntime(process.Peer.Errors))
            {
                EndedByLack++;
                string why = process.HasLostPool ? "its thread pool has no thread" : FirstLines(process.Peer.Errors);
                TestContext.Progress.WriteLine($"{process} ended by lack: {why}");
            }
            else
            {
                findings.Add("crash", $"{process} ended with {process.Peer.ExitCode}: {process.Peer.Errors}");
            }

            process.IsBusy = true;
            recoveries.OnFaultBegins();
            if (process.IsServer)
            {
                await WithOutageAsync(null, FaultKind.KillServer, fleet.KillServerAsync);
            }
            else
            {
                await fleet.ReplaceClientAsync(process, _random);
            }
        }
    }

    /// <summary>
    /// Whether the runtime ended the process, or its own program did. An exception of the library that nothing catches
    /// is a defect even during a lack, unless it is about code that cannot be loaded.
    /// </summary>
    private static bool IsEndByRuntime(string errors)
    {
        int unhandled = errors.IndexOf("Unhandled exception.", StringComparison.Ordinal);
        string[] lines = unhandled < 0 ? [] : errors[unhandled..].Split('\n', StringSplitOptions.TrimEntries);
        string? frame = Array.Find(lines, line => line.StartsWith("at RpcOverShm.", StringComparison.Ordinal));
        return frame is null
            || frame.StartsWith("at RpcOverShm.Test", StringComparison.Ordinal)
            || JournalCheck.IsAboutLack(errors);
    }

    private static string FirstLines(string text) =>
        string.Join(" | ", text.Split('\n', StringSplitOptions.RemoveEmptyEntries).Take(4));
}
