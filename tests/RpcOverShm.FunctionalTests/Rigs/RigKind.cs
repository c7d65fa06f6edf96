namespace RpcOverShm.FunctionalTests.Rigs;

/// <summary>What carries the calls of a test.</summary>
public enum RigKind
{
    /// <summary>This project.</summary>
    Shm,

    /// <summary>Grpc.Core, the C core, over a socket of localhost: what gRPC does.</summary>
    GrpcCore,

    /// <summary>Grpc.Net.Client and Kestrel over a Unix socket: gRPC too, and this project follows it.</summary>
    GrpcDotNet,
}
