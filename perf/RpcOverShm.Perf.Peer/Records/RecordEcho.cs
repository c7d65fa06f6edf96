namespace RpcOverShm.Perf.Peer.Records;

/// <summary>The client's end of an echo of records: the size that is asked for says which kind.</summary>
internal sealed class RecordEcho(Func<RecordKind, IEcho> open) : IEcho
{
    private readonly Dictionary<int, IEcho> _echoes = RecordKind.All.ToDictionary(kind => kind.SizeBytes, open);
    private IEcho? _echo;

    public ReadOnlySpan<byte> Reply => Current.Reply;

    private IEcho Current => _echo ?? throw new InvalidOperationException("Nothing was prepared.");

    public Memory<byte> Prepare(ExchangeSize size)
    {
        _echo = _echoes[size.RequestBytes];
        return _echo.Prepare(size);
    }

    public void Seal() => Current.Seal();

    public void Call() => Current.Call();

    public ValueTask CallAsync() => Current.CallAsync();
}

/// <summary>The generated service of records.</summary>
internal sealed class RecordCalls : CallsService
{
    public override ServerServiceDefinition Bind() => Testing.Protos.Records.BindService(new RecordService());

    public override Task<string> ServeByKestrelAsync(string place) =>
        GrpcDotnetTransport.StartServerAsync<RecordService>(place);

    public override IEcho OpenEcho(ChannelBase channel)
    {
        CallInvoker invoker = channel.CreateCallInvoker();
        return new RecordEcho(kind => kind.EchoBy(invoker));
    }
}

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
