using RpcOverShm.Perf.Peer.Arms;
using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>grpc-dotnet with records, as the generated service has them.</summary>
internal sealed class GrpcDotnetRecordArm : IArm
{
    public string Name => "grpc-dotnet-protobuf-record";

    public bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    public Task<string> ServeAsync(string place) => GrpcDotnetArm.StartServerAsync<RecordService>(place);

    public IArmClient MakeClient(string place) =>
        new CallsRecordsClient(GrpcDotnetArm.OpenChannel(place).CreateCallInvoker());
}
