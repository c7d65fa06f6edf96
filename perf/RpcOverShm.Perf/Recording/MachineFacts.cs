using System.Reflection;
using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Recording;

/// <summary>The facts that a run's figures depend on. A fact that the system does not tell is "unknown".</summary>
internal sealed record MachineFacts
{
    private const string Unknown = "unknown";

    public required string Date { get; init; }

    public required string Commit { get; init; }

    public required string Sdk { get; init; }

    public required string Runtime { get; init; }

    public required string GcMode { get; init; }

    public required string LohThresholdBytes { get; init; }

    public required string TieredCompilation { get; init; }

    public required string Kernel { get; init; }

    public required string CpuModel { get; init; }

    public required int Cores { get; init; }

    /// <summary>
    /// True in a virtual machine, where waking a sleeping processor costs much more than on the metal.
    /// </summary>
    public required bool Hypervisor { get; init; }

    public required string Clocksource { get; init; }

    public required string LoadAverageBefore { get; init; }

    public required int RingCapacityBytes { get; init; }

    public required double SecondsPerRow { get; init; }

    public required int Rounds { get; init; }

    public string LoadAverageAfter { get; init; } = Unknown;

    /// <summary>The busy share of all processors before the run: this program's start, others, steal.</summary>
    public double OthersPercent { get; init; }

    /// <summary>The share of all processor time that the hypervisor took away during the run.</summary>
    public double StealPercent { get; init; }

    public int RoundsMeasured { get; init; }

    public int RoundsWithSteal { get; init; }

    public static MachineFacts Collect(RuntimeFacts runtime, PerfSettings settings) => new()
    {
        Date = TimeProvider.System.GetUtcNow().ToString("yyyy-MM-dd HH:mm 'UTC'", CultureInfo.InvariantCulture),
        Commit = CommitOf(RepositoryRoot.Path),
        Sdk = Assembly.GetExecutingAssembly().GetCustomAttributes<AssemblyMetadataAttribute>()
            .FirstOrDefault(attribute => attribute.Key == "SdkVersion")?.Value ?? Unknown,
        Runtime = runtime.Runtime,
        GcMode = runtime.GcMode,
        LohThresholdBytes = runtime.LohThresholdBytes,
        TieredCompilation = runtime.TieredCompilation,
        Kernel = $"{Environment.OSVersion.VersionString}, {RuntimeInformation.OSDescription}",
        CpuModel = CpuFact("model name"),
        Cores = Environment.ProcessorCount,
        Hypervisor = CpuFact("flags").Split(' ').Contains("hypervisor"),
        Clocksource = FirstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        LoadAverageBefore = LoadAverage(),
        RingCapacityBytes = runtime.RingCapacityBytes,
        SecondsPerRow = settings.SecondsPerRow,
        Rounds = settings.Rounds,
    };

    public static string LoadAverage() => string.Join(' ', FirstLine("/proc/loadavg").Split(' ').Take(3));

    /// <summary>The facts as rows of a table: a name, and its value.</summary>
    public IReadOnlyList<string[]> Rows(int seed) =>
    [
        ["date", Date],
        ["commit", Commit],
        ["SDK, runtime", $"{Sdk}, {Runtime}"],
        ["garbage collector", GcMode],
        ["large objects", $"from {LohThresholdBytes} bytes on, except in the arms of 2 MiB"],
        ["tiered compilation", TieredCompilation],
        ["kernel, system", Kernel],
        ["processor", $"{CpuModel}, {Cores} {(Hypervisor ? "cores, a virtual machine" : "cores")}"],
        ["clock", Clocksource],
        ["load average", $"{LoadAverageBefore} before, {LoadAverageAfter} after"],
        ["processors busy", Format.Invariant($"{OthersPercent} %, in the second before the run")],
        ["steal", Format.Invariant($"{StealPercent:0.00} % of the time")],
        ["rounds with steal", $"{RoundsWithSteal} of {RoundsMeasured}; none is left out"],
        ["ring", $"{RingCapacityBytes} bytes each way"],
        ["measured", Format.Invariant($"{SecondsPerRow} s a row, in {Rounds} rounds")],
        ["sizes and counts", PerfSettings.IsFull ? "all" : "the short set"],
        ["seed", Format.Invariant($"{seed}")],
    ];

    private static string CpuFact(string name)
    {
        if (!File.Exists("/proc/cpuinfo"))
        {
            return Unknown;
        }

        IEnumerable<string> lines = File.ReadLines("/proc/cpuinfo");
        string? line = lines.FirstOrDefault(line => line.StartsWith(name, StringComparison.Ordinal));
        return line?[(line.IndexOf(':', StringComparison.Ordinal) + 1)..].Trim() ?? Unknown;
    }

    private static string FirstLine(string path) =>
        File.Exists(path) ? File.ReadLines(path).FirstOrDefault(Unknown) : Unknown;

    private static string CommitOf(string directory)
    {
        string? commit = Git(directory, "rev-parse", "--short=12", "HEAD");
        string? changes = Git(directory, "status", "--porcelain");
        return commit is null ? Unknown : string.IsNullOrEmpty(changes) ? commit : commit + " with changes";
    }

    private static string? Git(string directory, params string[] arguments)
    {
        try
        {
            var info = new ProcessStartInfo("git", ["-C", directory, .. arguments])
            {
                RedirectStandardOutput = true,
                RedirectStandardError = true,
            };
            using Process git = Process.Start(info)!;
            git.ErrorDataReceived += static (_, _) => { };
            git.BeginErrorReadLine();
            string output = git.StandardOutput.ReadToEnd();
            git.WaitForExit();
            return git.ExitCode == 0 ? output.Trim() : null;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            return null;
        }
    }
}
