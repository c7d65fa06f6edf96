using System.Buffers.Binary;
using System.Diagnostics;
using System.Globalization;
using System.Runtime;
using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Perf.Pair;

/// <summary>
/// The client of one build: carries out each cell, first without the clock, and writes a line for it: its name, the
/// median time of a call or message, and that of the slowest round.
/// </summary>
internal sealed class PairClient(
    Conformance.ConformanceClient client, Conformance.ConformanceClient oneWay, Func<ShmChannel> open)
{
    private const int Rounds = 6;
    private const int StreamBytes = 1 << 10;
    private const int Awaiting = 64;
    private const int Blocking = 8;
    private const int CrowdThreads = 4;
    private const int FewMethods = 10;
    private const int Connections = 400; // a server takes 500 of one process

    // The compiler's tiers come after pauses of 100 ms, so a warm-up has many rounds.
    private static readonly TimeSpan s_quiet = TimeSpan.FromMilliseconds(700);
    private static readonly TimeSpan s_longestWarmUp = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan s_gap = TimeSpan.FromMilliseconds(10);
    private static readonly TimeSpan s_round = TimeSpan.FromMilliseconds(80);
    private static readonly long s_ticksPerMicrosecond = Stopwatch.Frequency / 1_000_000;

    private static readonly Dictionary<string, Func<PairClient, TimeSpan, Task<double>>> s_cells = new()
    {
        ["blocking-100B"] = (one, time) => Task.FromResult(one.Block(100, time)),
        ["blocking-100B-after-10ms"] = (one, time) => Task.FromResult(one.Block(100, time, s_gap)),
        ["8-blocking-100B"] = (one, time) => one.BlockManyAsync(100, time, Blocking, [one._client]),
        ["awaited-100B"] = (one, time) => Task.Run(() => one.AwaitAsync(100, time)),
        ["64-awaiting-1KiB"] = (one, time) => one.AwaitManyAsync(StreamBytes, time, [one._client]),
        ["stream-1KiB"] = (one, time) => one.StreamAsync(time),
        ["one-way-1KiB"] = (one, time) => Task.FromResult(one.Send(StreamBytes, time)),
        ["blocking-100KiB"] = (one, time) => Task.FromResult(one.Block(100 << 10, time)),
        ["blocking-1MiB"] = (one, time) => Task.FromResult(one.Block(1 << 20, time)),
        ["crowd-4-blocking-100B"] = (one, time) => one.BlockManyAsync(100, time, CrowdThreads, one.Crowd()),
        ["crowd-64-awaiting-100B"] = (one, time) => one.AwaitManyAsync(100, time, one.Crowd()),
    };

    private readonly Conformance.ConformanceClient _client = client;
    private Conformance.ConformanceClient[]? _crowd;
    private long _perRound = 1000; // messages of a stream

    public static IEnumerable<string> Cells => s_cells.Keys;

    public static async Task<int> RunAsync(string address, string[] cells)
    {
        EndWithParent();
        ShmChannel Open() =>
            ShmChannel.ForAddress(address, new ShmChannelOptions { MaxReceiveMessageSize = null });

        using ShmChannel channel = Open();
        var one = new PairClient(
            new Conformance.ConformanceClient(channel),
            new Conformance.ConformanceClient(channel.CreateOneWayInvoker()),
            Open);
        foreach (string cell in cells)
        {
            Func<PairClient, TimeSpan, Task<double>> run = s_cells[cell];
            await WarmUpAsync(() => run(one, s_round));
            double[] rounds = new double[Rounds];
            for (int i = 0; i < Rounds; i++)
            {
                rounds[i] = await run(one, s_round);
            }

            Array.Sort(rounds);
            double median = (rounds[Rounds / 2] + rounds[(Rounds - 1) / 2]) / 2;
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{cell} {median} {rounds[^1]}"));
        }

        return 0;
    }

    // Until the compiler has nothing to do for a while. The first cell of a process needs seconds: without them it was
    // measured while a third thread compiled, which two processors do not hold.
    private static async Task WarmUpAsync(Func<Task> round)
    {
        long begun = Stopwatch.GetTimestamp();
        long quietSince = begun;
        long compiled = 0;
        while (Stopwatch.GetElapsedTime(quietSince) < s_quiet && Stopwatch.GetElapsedTime(begun) < s_longestWarmUp)
        {
            await round();
            if (JitInfo.GetCompiledMethodCount() is var count && count > compiled + FewMethods)
            {
                (compiled, quietSince) = (count, Stopwatch.GetTimestamp());
            }
        }
    }

    // Its standard input ends with the parent.
    private static void EndWithParent() => new Thread(() =>
    {
        while (Console.In.ReadLine() is not null)
        {
        }

        Environment.Exit(0);
    })
    { IsBackground = true }.Start();

    /// <summary>Makes blocking calls in turn, each after the gap. Returns the median in microseconds.</summary>
    private double Block(int size, TimeSpan time, TimeSpan gap = default)
    {
        Payload request = MakePayload(size);
        var times = new List<long>(1 << 16);
        long end = Stopwatch.GetTimestamp() + (long)(time.TotalSeconds * Stopwatch.Frequency);
        while (Stopwatch.GetTimestamp() < end)
        {
            if (gap > TimeSpan.Zero)
            {
                Thread.Sleep(gap);
            }

            long before = Stopwatch.GetTimestamp();
            Payload answer = _client.Echo(request);
            times.Add(Stopwatch.GetTimestamp() - before);
            Check(answer, request);
        }

        return MedianOf(times);
    }

    /// <summary>
    /// Makes calls from several threads, each over its share of the connections in turn. Returns the elapsed
    /// microseconds divided by all calls.
    /// </summary>
    private Task<double> BlockManyAsync(
        int size, TimeSpan time, int callers, Conformance.ConformanceClient[] clients)
    {
        Payload request = MakePayload(size);
        int caller = -1;
        return CallManyAsync(callers, time, end => Task.Factory.StartNew(
            () =>
            {
                int at = Interlocked.Increment(ref caller) % clients.Length;
                long count = 0;
                for (; Stopwatch.GetTimestamp() < end; count++, at = (at + callers) % clients.Length)
                {
                    Check(clients[at].Echo(request), request);
                }

                return count;
            },
            CancellationToken.None,
            TaskCreationOptions.LongRunning,
            TaskScheduler.Default));
    }

    /// <summary>
    /// Makes one-way calls, and then one that waits for the server. Returns the elapsed microseconds divided by all
    /// calls.
    /// </summary>
    private double Send(int size, TimeSpan time)
    {
        Payload request = MakePayload(size);
        long begun = Stopwatch.GetTimestamp();
        long end = begun + (long)(time.TotalSeconds * Stopwatch.Frequency);
        long count = 1;
        for (; Stopwatch.GetTimestamp() < end; count++)
        {
            oneWay.Echo(request);
        }

        Check(_client.Echo(request), request);
        return (Stopwatch.GetTimestamp() - begun) / (double)s_ticksPerMicrosecond / count;
    }

    private async Task<double> AwaitAsync(int size, TimeSpan time)
    {
        Payload request = MakePayload(size);
        var times = new List<long>(1 << 16);
        long end = Stopwatch.GetTimestamp() + (long)(time.TotalSeconds * Stopwatch.Frequency);
        for (long before = Stopwatch.GetTimestamp(); before < end; before = Stopwatch.GetTimestamp())
        {
            Payload answer = await _client.EchoAsync(request);
            times.Add(Stopwatch.GetTimestamp() - before);
            Check(answer, request);
        }

        return MedianOf(times);
    }

    /// <summary>The same from many tasks.</summary>
    private Task<double> AwaitManyAsync(int size, TimeSpan time, Conformance.ConformanceClient[] clients)
    {
        Payload request = MakePayload(size);
        int caller = -1;
        return CallManyAsync(Awaiting, time, end => Task.Run(async () =>
        {
            int at = Interlocked.Increment(ref caller) % clients.Length;
            long count = 0;
            for (; Stopwatch.GetTimestamp() < end; count++, at = (at + Awaiting) % clients.Length)
            {
                Check(await clients[at].EchoAsync(request), request);
            }

            return count;
        }));
    }

    // The caller gets the time stamp of its end.
    private static async Task<double> CallManyAsync(int callers, TimeSpan time, Func<long, Task<long>> startCaller)
    {
        long begun = Stopwatch.GetTimestamp();
        long end = begun + (long)(time.TotalSeconds * Stopwatch.Frequency);
        long[] calls = await Task.WhenAll(Enumerable.Range(0, callers).Select(_ => startCaller(end)));
        return (Stopwatch.GetTimestamp() - begun) / (double)s_ticksPerMicrosecond / calls.Sum();
    }

    // Opened once, and left to the end of the process.
    private Conformance.ConformanceClient[] Crowd() => _crowd ??=
        [.. Enumerable.Range(0, Connections).Select(_ => new Conformance.ConformanceClient(open()))];

    /// <summary>Receives a stream that takes about the time. Returns the microseconds for each message.</summary>
    private async Task<double> StreamAsync(TimeSpan time)
    {
        using AsyncServerStreamingCall<Payload> call = _client.Pump(
            new PumpRequest { Messages = _perRound, MessageBytes = StreamBytes });
        long begun = 0;
        long count = 0;
        for (; await call.ResponseStream.MoveNext(CancellationToken.None); count++)
        {
            begun = begun == 0 ? Stopwatch.GetTimestamp() : begun;
            ReadOnlySpan<byte> bytes = call.ResponseStream.Current.Data.Span;
            if (bytes.Length != StreamBytes
                || BinaryPrimitives.ReadInt64LittleEndian(bytes) != count
                || BinaryPrimitives.ReadInt64LittleEndian(bytes[^sizeof(long)..]) != count)
            {
                throw new InvalidDataException($"Message {count} is wrong.");
            }
        }

        if (count != _perRound)
        {
            throw new InvalidDataException($"{count} messages came of {_perRound}.");
        }

        double each = (Stopwatch.GetTimestamp() - begun) / (double)s_ticksPerMicrosecond / (count - 1);
        _perRound = (long)Math.Clamp(time.TotalMicroseconds / each, 1000, 8 * _perRound);
        return each;
    }

    private static Payload MakePayload(int size)
    {
        byte[] bytes = new byte[size];
        new Random(size).NextBytes(bytes);
        return new Payload { Data = UnsafeByteOperations.UnsafeWrap(bytes) };
    }

    private static void Check(Payload answer, Payload request)
    {
        if (!answer.Data.Span.SequenceEqual(request.Data.Span))
        {
            throw new InvalidDataException("An answer is wrong.");
        }
    }

    private static double MedianOf(List<long> ticks)
    {
        ticks.Sort();
        return ticks[ticks.Count / 2] / (double)s_ticksPerMicrosecond;
    }
}
