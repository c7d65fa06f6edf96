using BenchmarkDotNet.Attributes;
using RpcOverShm.Linux;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Perf.Micro;

/// <summary>The cost of waiting and waking when no thread waits.</summary>
public class SignalPieces
{
    private static readonly TimeSpan s_short = TimeSpan.FromMilliseconds(1);
    private readonly FutexSignal _signal = new FutexSignal(FutexSignal.IsWaitvSupported);
    private SharedSegment _segment = null!;

    [GlobalSetup]
    public void SetUp() => _segment = SharedSegment.Create(1 << 20, Guid.NewGuid());

    [GlobalCleanup]
    public void CleanUp() => _segment.Dispose();

    [Benchmark(Description = "a wake-up that nobody waits for: one system call")]
    public void Wake() => _signal.Wake(new SharedWord(ref _segment.Tail));

    [Benchmark(Description = "a wait whose word has changed already: one system call")]
    public bool WaitForWhatIsThere() =>
        _signal.Wait(new SharedWord(ref _segment.Tail), expected: 1, _signal.LocalEvents, s_short);
}
