using Grpc.Core;
using RpcOverShm.Perf.Peer.Arms;
using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>The client's end of a gRPC arm with records.</summary>
internal sealed class CallsRecordsClient(CallInvoker invoker) : IArmClient
{
    public Task<IEcho> OpenEchoAsync(CallerKind caller) =>
        Task.FromResult<IEcho>(new RecordEcho(new CallsRecords(invoker)));
}
