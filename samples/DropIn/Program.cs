using RpcOverShm.Samples;

// Runs the same service and client over Grpc.Core, then over shared memory.
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
