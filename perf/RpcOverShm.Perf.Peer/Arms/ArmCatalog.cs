namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>All mechanisms that can be measured, in the order of the tables.</summary>
internal static class ArmCatalog
{
    public static IReadOnlyList<IArm> All { get; } =
    [
        new CacheLineArm(),
        new RawRingArm(),
        new RawStreamArm(),
        new ShmRawArm(),
        new ShmObjectArm(),
        new ShmProtobufArm(),
        new ShmInPlaceArm(),
        new PipeArm(),
        new SerialisedPipeArm(new ProtobufFormat()),
        new UnixSocketArm(),
        new TcpArm(),
        new FifoArm(),
        new MappedFileArm(),
        new SignalArm(),
        new MemoryCopyArm(),
        new GrpcCoreArm(),
    ];

    public static IArm Find(string name) =>
        All.FirstOrDefault(arm => arm.Name == name) ?? throw new ArgumentException($"There is no arm '{name}'.");
}
