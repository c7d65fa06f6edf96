#if (codeFirst)
using ProtoBuf.Grpc;
#else
using Grpc.Core;
#endif

namespace RpcShmNamespace.Server;

#if (codeFirst)
/// <summary>The service of the contract <see cref="IGreeter"/>.</summary>
public sealed class GreeterService : IGreeter
{
    /// <inheritdoc/>
    public Task<HelloReply> SayHelloAsync(HelloRequest request, CallContext context = default) =>
        Task.FromResult(new HelloReply { Message = $"Hello {request.Name}" });
}
#else
/// <summary>The service of greeter.proto.</summary>
public sealed class GreeterService : Greeter.GreeterBase
{
    /// <inheritdoc/>
    public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context) =>
        Task.FromResult(new HelloReply { Message = $"Hello {request.Name}" });
}
#endif
