using System.Diagnostics;
using RpcOverShm.Perf.Peer.Arms;
using RpcOverShm.Perf.Peer.Recording;

namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// One caller that sends a request when the last one has come back: a closed loop. The clock of a call starts when its
/// bytes are in place and stops before they are checked. One thread at a time.
/// </summary>
internal sealed class EchoCaller(IEcho echo, int index)
{
    // Callers share a server: their messages have numbers that never meet.
    private const int CallerShift = 48;

    private long _number = (long)index << CallerShift;
    private LatencyHistogram _times = new();
    private EchoWindow _window;
    private int _sizeBytes;
    private bool _isOnClock;

    public LatencyHistogram Times => _times;

    /// <summary>Calls of the slice, those before the clock started included.</summary>
    public long Calls { get; private set; }

    public long WrongBytes { get; private set; }

    public long FirstTick { get; private set; }

    public long LastTick { get; private set; }

    /// <summary>What the process had used when this caller's clock started.</summary>
    public ResourceSample UsedBefore { get; private set; }

    public void Begin(int sizeBytes, EchoWindow window)
    {
        _sizeBytes = sizeBytes;
        _window = window;
        _times = new LatencyHistogram();
        _isOnClock = false;
        Calls = 0;
        WrongBytes = 0;
    }

    public void Run()
    {
        while (TryStart(out long start))
        {
            echo.Call();
            Finish(start);
        }
    }

    public async Task RunAsync()
    {
        while (TryStart(out long start))
        {
            await echo.CallAsync();
            Finish(start);
        }
    }

    private bool TryStart(out long start)
    {
        PayloadPattern.Fill(echo.Prepare(_sizeBytes).Span, _number);
        start = Stopwatch.GetTimestamp();
        if (_isOnClock)
        {
            // A call that takes longer than the slice is measured all the same.
            return start < _window.EndTick || _times.Count == 0;
        }

        if (start >= _window.StartTick)
        {
            _isOnClock = true;
            UsedBefore = ResourceSample.Take();
            FirstTick = start = Stopwatch.GetTimestamp();
        }

        return true;
    }

    private void Finish(long start)
    {
        long end = Stopwatch.GetTimestamp();
        if (_isOnClock)
        {
            _times.Record(end - start);
            LastTick = end;
        }

        WrongBytes += PayloadPattern.CountWrong(echo.Reply, _number, _sizeBytes);
        _number++;
        Calls++;
    }
}
