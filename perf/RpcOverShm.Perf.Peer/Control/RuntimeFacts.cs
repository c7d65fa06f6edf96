using System.Runtime;
using System.Runtime.InteropServices;

namespace RpcOverShm.Perf.Peer.Control;

/// <summary>The runtime of a measured process, as the process itself sees it.</summary>
/// <param name="Runtime">The runtime's name and version.</param>
/// <param name="GcMode">Workstation or server, concurrent or not.</param>
/// <param name="LohThresholdBytes">The size from which arrays come from the large object heap.</param>
/// <param name="TieredCompilation">The environment's changes to tiered compilation.</param>
/// <param name="RingCapacityBytes">The default size of a ring.</param>
internal sealed record RuntimeFacts(
    string Runtime, string GcMode, string LohThresholdBytes, string TieredCompilation, int RingCapacityBytes)
{
    private static readonly string[] s_tieringVariables =
        ["DOTNET_TieredCompilation", "DOTNET_TieredPGO", "DOTNET_TC_QuickJitForLoops", "DOTNET_ReadyToRun"];

    public static RuntimeFacts Collect()
    {
        string collector = GCSettings.IsServerGC ? "server" : "workstation";
        string concurrent = GCSettings.LatencyMode == GCLatencyMode.Batch ? "not concurrent" : "concurrent";
        string threshold = GC.GetConfigurationVariables()["LOHThreshold"].ToString() ?? "?";
        return new RuntimeFacts(
            $"{RuntimeInformation.FrameworkDescription} {RuntimeInformation.RuntimeIdentifier}",
            $"{collector}, {concurrent}",
            threshold,
            Tiering(),
            new ShmChannelOptions().Ring.Capacity);
    }

    public static RuntimeFacts Read(LineReader line) => new(
        line.NextText(), line.NextText(), line.NextText(), line.NextText(), (int)line.NextNumber());

    public void Write(LineWriter line) =>
        line.Add(Runtime).Add(GcMode).Add(LohThresholdBytes).Add(TieredCompilation).Add(RingCapacityBytes);

    private static string Tiering()
    {
        var set = s_tieringVariables
            .Where(name => Environment.GetEnvironmentVariable(name) is not null)
            .Select(name => $"{name}={Environment.GetEnvironmentVariable(name)}")
            .ToList();
        return set.Count == 0 ? "default" : string.Join(' ', set);
    }
}
