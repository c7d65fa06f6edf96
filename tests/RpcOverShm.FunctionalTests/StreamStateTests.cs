using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>Readers and writers that are used in the wrong order, or at the wrong time, on both sides.</summary>
[TestFixture(RigKind.Shm)]
[TestFixture(RigKind.GrpcCore)]
internal sealed class StreamStateTests(RigKind kind) : RigFixture(kind)
{
    /// <summary>What something throws, at once or through its task; null when nothing.</summary>
    private static async Task<Exception?> CatchAsync(Func<Task> action)
    {
        try
        {
            await action().Bounded();
            return null;
        }
        catch (Exception exception)
        {
            return exception;
        }
    }
}
