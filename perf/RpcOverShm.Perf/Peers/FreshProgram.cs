namespace RpcOverShm.Perf.Peers;

/// <summary>A program whose processes are measured from their start on.</summary>
/// <param name="Arm">The arm that it serves and calls.</param>
/// <param name="IsReadyToRun">Whether our assemblies have the ReadyToRun code of our packages.</param>
internal sealed record FreshProgram(string Arm, bool IsReadyToRun = false)
{
    public static FreshProgram Product { get; } = new("shm-protobuf");

    public static FreshProgram ReadyToRun { get; } = Product with { IsReadyToRun = true };

    public static FreshProgram Rival { get; } = new("grpc-dotnet-uds");

    /// <summary>All programs; without the one with ReadyToRun code where that could not be made.</summary>
    public static IReadOnlyList<FreshProgram> All { get; } =
        PeerProcess.HasReadyToRun ? [Product, ReadyToRun, Rival] : [Product, Rival];

    /// <summary>A sentence for a table without the program that has ReadyToRun code; else empty.</summary>
    public static string Missing => PeerProcess.HasReadyToRun
        ? ""
        : " Not measured: ReadyToRun code, because this build has no compiler for it. Build the suite alone, with a "
            + "feed that has microsoft.netcore.app.crossgen2.";

    public string Label => IsReadyToRun ? $"{Arm}, ReadyToRun" : Arm;

    public Task<(PeerProcess Server, string Place)> StartServerAsync(string place, TimeSpan deadline) =>
        PeerProcess.StartServerAsync(Arm, place, deadline, IsReadyToRun);

    public Task<PeerProcess> StartClientAsync() =>
        PeerProcess.StartAsync($"client of {Label}", ArmCatalog.Find(Arm), IsReadyToRun);
}
