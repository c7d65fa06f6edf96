namespace RpcOverShm.Soak;

/// <summary>The choice of the next fault.</summary>
internal static class FaultWeights
{
    private static readonly (FaultKind Kind, int Weight)[] s_weights =
    [
        (FaultKind.KillClient, 14), (FaultKind.KillServer, 5), (FaultKind.StopClient, 16), (FaultKind.StopServer, 7),
        (FaultKind.RestartServer, 5), (FaultKind.ReopenChannel, 14), (FaultKind.StarveProcessor, 7),
        (FaultKind.StarveDescriptors, 8), (FaultKind.StarveMemory, 5), (FaultKind.StarveThreads, 5),
    ];

    public static FaultKind Pick(Random random)
    {
        int at = random.Next(s_weights.Sum(row => row.Weight));
        foreach ((FaultKind kind, int weight) in s_weights)
        {
            at -= weight;
            if (at < 0)
            {
                return kind;
            }
        }

        throw new InvalidOperationException("The weights do not cover their sum.");
    }

    /// <summary>Whether the fault ends the server's process, so that nothing it leaked would be seen.</summary>
    public static bool ReplacesServer(FaultKind kind) => kind is FaultKind.KillServer or FaultKind.RestartServer;

    /// <summary>Whether the runtime itself may end the process for the lack.</summary>
    public static bool MayEndProcess(FaultKind kind) =>
        kind is FaultKind.StarveDescriptors or FaultKind.StarveMemory or FaultKind.StarveThreads;
}
