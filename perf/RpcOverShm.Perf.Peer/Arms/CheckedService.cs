using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Perf.Peer.Recording;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>The service of all gRPC arms: what comes in is checked, what goes out can be.</summary>
internal sealed class CheckedService : Conformance.ConformanceBase
{
    public override Task<Payload> Echo(Payload request, ServerCallContext context)
    {
        ServedTally.CountRequest(request.Data.Span);
        return Task.FromResult(request);
    }

    public override async Task Pump(
        PumpRequest request, IServerStreamWriter<Payload> responseStream, ServerCallContext context)
    {
        using var messages = PumpMessages.OfSize(request.MessageBytes);
        for (long i = 0; i < request.Messages; i++)
        {
            // A message has been serialised when its write completes, so its bytes can be used again.
            ByteString data = UnsafeByteOperations.UnsafeWrap(messages.Next(i));
            await responseStream.WriteAsync(new Payload { Data = data });
        }
    }
}
