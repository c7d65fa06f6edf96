using System.Runtime.CompilerServices;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Rings;

namespace RpcOverShm.FunctionalTests.Interop;

/// <summary>Shared memory: reads the positions of both rings from private fields, as no API exposes them.</summary>
internal sealed class MeteredShmRig : MeteredRig
{
    private readonly ShmRig _rig;

    private MeteredShmRig(ShmRig rig) => _rig = rig;

    public override ChannelBase Channel => _rig.Channel;

    public override long RequestBytes => ServersLink.Reader.Position;

    public override long ResponseBytes => Volatile.Read(ref TailOf(ServersLink.Writer));

    private PeerLink ServersLink => LinkOf(_rig.OnlyConnection);

    public static async Task<MeteredShmRig> StartAsync(ServerServiceDefinition service) =>
        new(await ShmRig.StartAsync(null, service));

    public override ValueTask DisposeAsync() => _rig.DisposeAsync();

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_link")]
    private static extern ref PeerLink LinkOf(Connection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_tail")]
    private static extern ref long TailOf(RingWriter writer);
}
