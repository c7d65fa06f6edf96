namespace RpcOverShm.Perf.Peer.Records;

/// <summary>The client's end of an echo of records: the kind of record is that of the size that is asked for.</summary>
internal sealed class RecordEcho(IRecordTransport transport) : IEcho
{
    private readonly Dictionary<int, IEcho> _echoes = new()
    {
        [RecordSizes.Tiny] = transport.EchoOf(new TinyShape(), RecordSizes.Tiny),
        [RecordSizes.Small] = transport.EchoOf(new SmallShape(), RecordSizes.Small),
        [RecordSizes.Wide] = transport.EchoOf(new WideShape(), RecordSizes.Wide),
        [RecordSizes.Table] = transport.EchoOf(new TableShape(), RecordSizes.Table),
    };

    private IEcho? _echo;
    private int _size;

    public ReadOnlySpan<byte> Reply => Current.Reply;

    private IEcho Current => _echo ?? throw new InvalidOperationException("Nothing was prepared.");

    public Memory<byte> Prepare(ExchangeSize size)
    {
        if (_size != size.RequestBytes)
        {
            _size = size.RequestBytes;
            _echo = _echoes[_size];
        }

        return Current.Prepare(size);
    }

    public void Seal() => Current.Seal();

    public void Call() => Current.Call();

    public ValueTask CallAsync() => Current.CallAsync();
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
