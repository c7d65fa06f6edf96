using RpcOverShm.Samples;

// The same service and the same client, over one transport and then over the other.
SideBySide.ShowCode();
try
{
    IReadOnlyList<string> overGrpcCore = await OverGrpcCore.RunAsync();
    SideBySide.Show("over Grpc.Core, on localhost", overGrpcCore);

    IReadOnlyList<string> overSharedMemory = await OverSharedMemory.RunAsync();
    SideBySide.Show("over shared memory", overSharedMemory);

    return SideBySide.ShowVerdict(overGrpcCore, overSharedMemory) ? 0 : 1;
}
catch (Exception exception)
{
    Console.WriteLine($"NOT AS EXPECTED: {exception.Message}");
    return 1;
}
