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
        new ShmPayloadArm(),
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
        .. MessageQueue.LargestMessage > 0 ? (IArm[])[new MessageQueueArm()] : [],
        new ZeroMqArm(),
        new MemoryCopyArm(),
        new GrpcDotnetArm(),
        new GrpcCoreArm(),
        new JsonRpcArm(),
        new ShmRecordArm(RecordFormat.Protobuf),
        new ShmRecordArm(RecordFormat.MessagePack),
        new GrpcDotnetRecordArm(),
        new PipeRecordArm(RecordFormat.Protobuf),
        new PipeRecordArm(RecordFormat.MessagePack),
        new SocketRecordArm(RecordFormat.Protobuf),
        new SocketRecordArm(RecordFormat.MessagePack),
    ];

    public static IArm Find(string name) =>
        All.FirstOrDefault(arm => arm.Name == name) ?? throw new ArgumentException($"There is no arm '{name}'.");
}
