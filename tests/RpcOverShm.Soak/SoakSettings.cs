namespace RpcOverShm.Soak;

/// <summary>The settings of a run.</summary>
/// <param name="Seed">The seed of calls and faults.</param>
/// <param name="Length">The time with faults.</param>
/// <param name="Clients">The number of client processes. The first one lives for the whole run.</param>
/// <param name="Workers">The number of concurrent callers of each client.</param>
internal sealed record SoakSettings(int Seed, TimeSpan Length, int Clients, int Workers)
{
    public const string SeedVariable = "RPCOVERSHM_SOAK_SEED";
    public const string SecondsVariable = "RPCOVERSHM_SOAK_SECONDS";

    private const string StormSecondsVariable = "RPCOVERSHM_STORM_SECONDS";
    private const string ClientsVariable = "RPCOVERSHM_SOAK_CLIENTS";
    private const string WorkersVariable = "RPCOVERSHM_SOAK_WORKERS";
    private const string PauseVariable = "RPCOVERSHM_SOAK_PAUSE";

    private const int DefaultSeconds = 60;
    private const int DefaultClients = 6;
    private const int DefaultWorkers = 4;
    private const int DefaultStormSeconds = 5;
    private const int StormClients = 8;
    private const int StormWorkers = 8;

    // So many keep the processors of a small machine busy, and still leave each its share.
    private const int CallersWithoutPause = 24;

    // So many clients leave one that starts enough of two processors for the usual time limits.
    private const int ClientsInTime = 20;

    /// <summary>
    /// The mean pause of a caller between two calls, so that many callers make about as many calls as few do: a process
    /// without a processor meets no time limit, and proves nothing. A slow machine needs a longer one.
    /// </summary>
    public TimeSpan Pause => TimeSpan.FromMilliseconds(
        Storm is null ? Read(PauseVariable, 2 * Math.Max(0, (Clients * Workers) - CallersWithoutPause)) : 0);

    /// <summary>The kind of a storm of callbacks; null for calls of all kinds.</summary>
    public StormSettings? Storm { get; init; }

    /// <summary>
    /// The factor of all time limits, 1 without very many clients. After a restart of the server all of them connect at
    /// once, and one that starts compiles its code while the others have their share of the processors.
    /// </summary>
    public int Patience => Math.Max(1, Clients / ClientsInTime);

    public static SoakSettings FromEnvironment() => new(
        Read(SeedVariable, Random.Shared.Next()),
        TimeSpan.FromSeconds(Read(SecondsVariable, DefaultSeconds)),
        Read(ClientsVariable, DefaultClients),
        Read(WorkersVariable, DefaultWorkers));

    public static SoakSettings ForStorm(ShmSchedulingMode mode, StormPools pools) => new(
        Read(SeedVariable, Random.Shared.Next()),
        TimeSpan.FromSeconds(Read(StormSecondsVariable, DefaultStormSeconds)),
        StormClients,
        StormWorkers)
    {
        Storm = new StormSettings(mode, pools, StormWorkers),
    };

    private static int Read(string name, int otherwise) =>
        Environment.GetEnvironmentVariable(name) is { Length: > 0 } text
            ? int.Parse(text, CultureInfo.InvariantCulture)
            : otherwise;
}
