namespace RpcOverShm.Perf.Peer.Records;

/// <summary>What carries records there and back.</summary>
internal interface IRecordTransport
{
    /// <summary>The echo of one kind of record.</summary>
    /// <param name="shape">Makes the records.</param>
    /// <param name="sizeBytes">One of <see cref="RecordSizes"/>.</param>
    IEcho EchoOf<T>(RecordShape<T> shape, int sizeBytes)
        where T : class, IMessage<T>, new();
}

/// <summary>grpc-dotnet with records, as the generated service has them.</summary>
internal sealed class GrpcDotnetRecordArm : IArm
{
    public string Name => "grpc-dotnet-protobuf-record";

    public bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    public Task<string> ServeAsync(string place) => GrpcDotnetArm.StartServerAsync<RecordService>(place);

    public IArmClient MakeClient(string place) =>
        new CallsRecordsClient(GrpcDotnetArm.OpenChannel(place).CreateCallInvoker());
}

/// <summary>The named pipe with records.</summary>
internal sealed class PipeRecordArm(RecordFormat format) : PipeArm
{
    private readonly RecordStreams _records = new(format);

    public override string Name => $"pipe-{format.Name}-record";

    public override bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    protected override IEcho MakeEcho(Stream stream) => _records.MakeEcho(stream);

    protected override Task ServeStreamAsync(Stream stream) => _records.ServeAsync(stream);
}

/// <summary>The Unix domain socket with records.</summary>
internal sealed class SocketRecordArm(RecordFormat format) : UnixSocketArm
{
    private readonly RecordStreams _records = new(format);

    public override string Name => $"uds-{format.Name}-record";

    public override bool Supports(LoadShape shape, CallerKind caller) => shape == LoadShape.Echo;

    protected override IEcho MakeEcho(Stream stream) => _records.MakeEcho(stream);

    protected override Task ServeStreamAsync(Stream stream) => _records.ServeAsync(stream);
}
