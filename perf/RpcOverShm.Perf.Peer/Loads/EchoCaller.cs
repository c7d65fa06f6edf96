namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// One caller that sends a request when the last one has come back, or when it is due on the schedule, over each of its
/// connections in turn. The clock of a call starts when its bytes are in place and stops before they are checked. One
/// thread at a time.
/// </summary>
internal sealed class EchoCaller(IReadOnlyList<IEcho> echoes, int index)
{
    private IEcho _echo = echoes[0];
    private int _turn;
    private long _sequence;
    private long _number;
    private EchoPace? _pace;
    private LoadOrder _order = new(LoadShape.Echo, CallerKind.Blocking, 0);
    private EchoWindow _window;
    private ExchangeSize _size;
    private int _patternBytes;
    private bool _isOnClock;

    public LatencyHistogram Times { get; private set; } = new();

    /// <summary>With a schedule: times from the actual start of a call instead of the intended start.</summary>
    public LatencyHistogram Uncorrected { get; private set; } = new();

    /// <summary>Calls of the slice, those before the clock started included.</summary>
    public long Calls { get; private set; }

    public long WrongBytes { get; private set; }

    public long FirstTick { get; private set; }

    public long LastTick { get; private set; }

    /// <summary>The resources that the process had used when this caller's clock started.</summary>
    public ResourceSample UsedBefore { get; private set; }

    public void Begin(LoadOrder order, EchoWindow window)
    {
        _order = order;
        _window = window;
        _pace = EchoPace.Of(order, index);
        _size = new ExchangeSize(order.SizeBytes, order.ReplyBytes);
        Times = new LatencyHistogram();
        Uncorrected = new LatencyHistogram();
        _isOnClock = false;
        Calls = 0;
        WrongBytes = 0;
    }

    public void Run()
    {
        while (TryPrepare())
        {
            _pace?.Wait();
            long start = Start();
            _echo.Call();
            Finish(start);
        }
    }

    public async Task RunAsync()
    {
        while (TryPrepare())
        {
            if (_pace is not null)
            {
                await _pace.WaitAsync();
            }

            long start = Start();
            await _echo.CallAsync();
            Finish(start);
        }
    }

    // A call that takes longer than the slice is measured all the same.
    private bool TryPrepare()
    {
        bool isDone = Times.Count > 0
            && ((_order.Calls > 0 && Times.Count >= _order.Calls) || LastTick >= _window.EndTick);
        if (isDone)
        {
            return false;
        }

        if (_order.SizeBytes == LoadOrder.Mixed)
        {
            _size = ExchangeMix.At(Times.Count);
        }

        _echo = echoes[_turn];
        _turn = _turn + 1 < echoes.Count ? _turn + 1 : 0;
        _number = EchoNumber.Make(index, _size.ReplyBytes, _sequence++, _order.WorkMicroseconds);
        Span<byte> pattern = _echo.Prepare(_size).Span;
        _patternBytes = pattern.Length;
        PayloadPattern.Fill(pattern, _number);
        _echo.Seal();
        return true;
    }

    private long Start()
    {
        long start = Stopwatch.GetTimestamp();
        if (!_isOnClock && start >= _window.StartTick)
        {
            _isOnClock = true;
            UsedBefore = ResourceSample.Take();
            FirstTick = start = Stopwatch.GetTimestamp();
        }

        return start;
    }

    private void Finish(long start)
    {
        long end = Stopwatch.GetTimestamp();
        if (_isOnClock)
        {
            if (_pace is { IsSchedule: true })
            {
                Uncorrected.Record(end - start);
                start = _pace.IntendedTick;
            }

            Times.Record(end - start);
            LastTick = end;
        }

        // For a message with fields these are the bytes that its fields were made from.
        bool isOtherSize = _size.ReplyBytes != LoadOrder.SameAsRequest;
        WrongBytes += PayloadPattern.CountWrong(
            _echo.Reply, ReplyNumber(), isOtherSize ? _size.ReplyExpected : _patternBytes);
        Calls++;
    }

    // Too short for a number: its bytes are those of number 0.
    private long ReplyNumber() => _size.RequestBytes < PayloadPattern.NumberBytes ? 0 : _number;
}
