using System.Net.Sockets;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>grpc-dotnet with a counting relay between channel and server.</summary>
internal sealed class MeteredGrpcDotNetRig : MeteredRig
{
    private readonly GrpcDotNetRig _rig;
    private readonly CountingRelay _relay;

    private MeteredGrpcDotNetRig(GrpcDotNetRig rig)
    {
        _rig = rig;
        string path = rig.SocketPath + ".relay";
        _relay = new CountingRelay(new UnixDomainSocketEndPoint(path), new UnixDomainSocketEndPoint(rig.SocketPath));
        Channel = rig.OpenChannel(path);
    }

    public override ChannelBase Channel { get; }

    public override long RequestBytes => _relay.UpBytes;

    public override long ResponseBytes => _relay.DownBytes;

    public static async Task<MeteredGrpcDotNetRig> StartAsync(ServerServiceDefinition service) =>
        new(await GrpcDotNetRig.StartAsync(null, service));

    public override async ValueTask DisposeAsync()
    {
        await _rig.DisposeAsync();
        await _relay.DisposeAsync();
    }
}
