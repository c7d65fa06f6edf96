using System.Reflection;
using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Recording;

/// <summary>What a run's figures depend on. Where the system does not say, a fact is "unknown".</summary>
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

    /// <summary>True in a virtual machine: waking a sleeping processor is then much dearer than on the metal.</summary>
    public required bool Hypervisor { get; init; }

    public required string Clocksource { get; init; }

    public required string LoadAverageBefore { get; init; }

    public required int RingCapacityBytes { get; init; }

    public required double SecondsPerRow { get; init; }

    public required int Rounds { get; init; }

    public string LoadAverageAfter { get; init; } = Unknown;

    /// <summary>The share of all processor time that the hypervisor gave to others during the run.</summary>
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
