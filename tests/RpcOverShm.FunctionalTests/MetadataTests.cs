using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;

namespace RpcOverShm.FunctionalTests;

/// <summary>What travels beside the messages: request metadata, response headers, trailers.</summary>
[TestFixture(RigKind.Shm)]
[TestFixture(RigKind.GrpcCore)]
internal sealed class MetadataTests(RigKind kind) : RigFixture(kind)
{

}
