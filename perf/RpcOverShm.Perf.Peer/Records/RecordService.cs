using Grpc.Core;
using RpcOverShm.Perf.Peer.Recording;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>Sends records back. The client checks every field of what comes; this side counts.</summary>
internal sealed class RecordService : Testing.Protos.Records.RecordsBase
{
    public override Task<TinyRecord> EchoTiny(TinyRecord request, ServerCallContext context) => EchoAsync(request);

    public override Task<SmallRecord> EchoSmall(SmallRecord request, ServerCallContext context) => EchoAsync(request);

    public override Task<WideRecord> EchoWide(WideRecord request, ServerCallContext context) => EchoAsync(request);

    public override Task<TableRecord> EchoTable(TableRecord request, ServerCallContext context) => EchoAsync(request);

    private static Task<T> EchoAsync<T>(T request)
    {
        ServedTally.Count(wrongBytes: 0);
        return Task.FromResult(request);
    }
}
