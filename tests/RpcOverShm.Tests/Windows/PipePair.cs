using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Windows;

/// <summary>A pair of wires that came through a door of its own.</summary>
[SupportedOSPlatform("windows")]
internal sealed class PipePair : WirePair
{
    private readonly TestDoor _door;

    public PipePair()
        : this(new TestDoor())
    {
    }

    private PipePair(TestDoor door)
        : base(door.Connect()) => _door = door;

    public RendezvousAddress Address => _door.Address;

    public Door Door => _door.Door;

    public PollThread DoorThread => _door.Thread;

    public Wire Client => ClientWire;

    public Wire Server => ServerWire;

    public static RendezvousAddress NewAddress() => TestAddress.New();

    public static Task<Wire> ConnectAsync(RendezvousAddress address, CancellationToken token = default) =>
        TestDoor.ConnectAsync(address, token);

    public (Wire Client, Wire Server) Connect() => _door.Connect();

    /// <summary>Returns the wire of the client that has come next.</summary>
    public Wire Take() => _door.Take();

    public override void Dispose()
    {
        _door.Dispose();
        base.Dispose();
    }
}
