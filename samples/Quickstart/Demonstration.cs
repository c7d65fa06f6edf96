using System.Diagnostics;
using System.Globalization;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>
/// The client's process: calls the server in every shape, prints what happened, and counts what went wrong.
/// </summary>
internal sealed class Demonstration
{
    private const int MeasuredCalls = 10_000;
    private const int WarmUpCalls = 20_000;

    private readonly ShmChannel _channel;
    private readonly Ticker.TickerClient _client;
    private readonly string _address;
    private int _failures;

    private Demonstration(ShmChannel channel, string address)
    {
        _channel = channel;
        _client = new Ticker.TickerClient(channel);
        _address = address;
    }

    /// <summary>Returns the exit code: 0 when everything was as expected.</summary>
    public static async Task<int> RunAsync()
    {
        string address = $"shm://quickstart-{Environment.ProcessId}";
        await using ServerProcess server = await ServerProcess.StartAsync(address);
        Console.WriteLine($"client: process {Environment.ProcessId}");
        Console.WriteLine($"server: process {server.Id}, at {address}");
        Console.WriteLine();

        using ShmChannel channel = ShmChannel.ForAddress(address);
        var demonstration = new Demonstration(channel, address);
        await demonstration.ShowAllShapesAsync();
        demonstration.ShowLatency();

        int exitCode = await server.StopAsync();
        demonstration.Check("server stopped", exitCode == 0, $"exit code {exitCode}");
        return demonstration._failures == 0 ? 0 : 1;
    }

    private async Task ShowAllShapesAsync()
    {
        await ShowAsync("blocking unary", () => Task.FromResult(Describe(_client.Latest(new Symbol { Name = "SHM" }))));
        await ShowAsync("async unary", async () => Describe(await _client.LatestAsync(new Symbol { Name = "SHM" })));
        await ShowAsync("batch", BatchAsync);
        await ShowAsync("server stream", WatchAsync);
        await ShowAsync("client stream", RecordAsync);
        await ShowAsync("duplex stream", TradeAsync);
        await ShowAsync("error status", () => ExpectAsync(StatusCode.NotFound, "No symbol 'XYZ'.", AskForUnknownAsync));
        await ShowAsync("deadline", () => ExpectAsync(StatusCode.DeadlineExceeded, "", WatchPastDeadlineAsync));
        await ShowAsync("cancelled stream", CancelAsync);
        await ShowAsync("raw stream", EchoRawAsync);
    }

    private async Task<string> BatchAsync()
    {
        // snippet: batch
        using ShmCallBatch batch = _channel.CreateBatch();
        var client = new Ticker.TickerClient(batch.CallInvoker);
        AsyncUnaryCall<Tick>[] calls =
            [.. Enumerable.Range(0, 1000).Select(_ => client.LatestAsync(new Symbol { Name = "SHM" }))];
        await batch.SendAsync();
        Tick[] ticks = await Task.WhenAll(calls.Select(call => call.ResponseAsync));
        // end snippet
        Require(ticks.All(tick => tick.Name == "SHM"), "an answer is another call's");
        return $"{ticks.Length} calls in one publication, each answered";
    }

    private async Task<string> WatchAsync()
    {
        using AsyncServerStreamingCall<Tick> call = _client.Watch(new WatchRequest { Name = "SHM", Count = 1000 });
        long expected = 0;
        while (await call.ResponseStream.MoveNext(CancellationToken.None))
        {
            Require(call.ResponseStream.Current.Sequence == expected++, "a message is missing or out of order");
        }

        Require(
            expected == 1000 && call.GetStatus().StatusCode == StatusCode.OK,
            $"{expected} messages, {call.GetStatus()}");
        return $"{expected} messages in order, then {call.GetStatus().StatusCode}";
    }

    private async Task<string> RecordAsync()
    {
        using AsyncClientStreamingCall<Tick, Summary> call = _client.Record();
        for (int i = 0; i < 1000; i++)
        {
            await call.RequestStream.WriteAsync(new Tick { Name = "SHM", Sequence = i, Price = i });
        }

        await call.RequestStream.CompleteAsync();
        Summary summary = await call;
        Require(summary is { Count: 1000, Average: 499.5 }, $"{summary.Count} of 1000, average {summary.Average}");
        return string.Create(CultureInfo.InvariantCulture, $"{summary.Count} messages, average {summary.Average}");
    }

    private async Task<string> TradeAsync()
    {
        using AsyncDuplexStreamingCall<Order, Fill> call = _client.Trade();
        for (int i = 1; i <= 100; i++)
        {
            await call.RequestStream.WriteAsync(new Order { Name = "SHM", Quantity = i });
            Require(await call.ResponseStream.MoveNext(CancellationToken.None), "the stream ended early");
            Require(call.ResponseStream.Current.Quantity == i, $"order {i} was answered with another");
        }

        await call.RequestStream.CompleteAsync();
        Require(!await call.ResponseStream.MoveNext(CancellationToken.None), "more answers than orders");
        return "100 orders, each answered before the next";
    }

    private async Task AskForUnknownAsync() => await _client.LatestAsync(new Symbol { Name = "XYZ" });

    private async Task WatchPastDeadlineAsync()
    {
        using AsyncServerStreamingCall<Tick> call = _client.Watch(
            new WatchRequest { Name = "SHM" }, deadline: DateTime.UtcNow.AddMilliseconds(50));
        while (await call.ResponseStream.MoveNext(CancellationToken.None))
        {
        }
    }

    private async Task<string> CancelAsync()
    {
        using var cancellation = new CancellationTokenSource();
        using AsyncServerStreamingCall<Tick> call = _client.Watch(
            new WatchRequest { Name = "SHM" }, cancellationToken: cancellation.Token);
        for (int i = 0; i < 3; i++)
        {
            Require(await call.ResponseStream.MoveNext(CancellationToken.None), "the stream ended early");
        }

        await cancellation.CancelAsync();
        string status = await ExpectAsync(StatusCode.Cancelled, "Call canceled by the client.", ReadOnAsync);
        return $"3 messages, then {status}";

        async Task ReadOnAsync()
        {
            while (await call.ResponseStream.MoveNext(CancellationToken.None))
            {
            }
        }
    }

    private async Task<string> EchoRawAsync()
    {
        await using ShmStream stream = await ShmStream.ConnectAsync(TickerServer.RawAddress(_address));
        byte[] sent = new byte[1 << 20];
        new Random(1).NextBytes(sent);
        byte[] received = new byte[sent.Length];

        // Both ways at the same time: the stream holds less than this.
        Task writing = stream.WriteAsync(sent).AsTask();
        await stream.ReadExactlyAsync(received);
        await writing;
        Require(sent.AsSpan().SequenceEqual(received), "bytes were changed");
        return $"{sent.Length:N0} bytes there and back, all equal";
    }

    /// <summary>What a blocking call takes, in a loop on one thread, after the compiler has done its work.</summary>
    private void ShowLatency()
    {
        var symbol = new Symbol { Name = "SHM" };
        for (int i = 0; i < WarmUpCalls; i++)
        {
            _client.Latest(symbol);
        }

        long[] ticks = new long[MeasuredCalls];
        for (int i = 0; i < ticks.Length; i++)
        {
            long start = Stopwatch.GetTimestamp();
            _client.Latest(symbol);
            ticks[i] = Stopwatch.GetTimestamp() - start;
        }

        Array.Sort(ticks);
        Console.WriteLine();
        Console.WriteLine(
            $"latency of {MeasuredCalls:N0} blocking unary calls, {Environment.ProcessorCount} processors");
        Console.WriteLine("    p50        p99        max");
        Console.WriteLine($"{Micro(ticks.Length / 2)} {Micro(ticks.Length * 99 / 100)} {Micro(ticks.Length - 1)}");

        string Micro(int index) => string.Create(
            CultureInfo.InvariantCulture, $"{ticks[index] * 1e6 / Stopwatch.Frequency,7:F2} µs");
    }

    private async Task ShowAsync(string shape, Func<Task<string>> run)
    {
        long start = Stopwatch.GetTimestamp();
        try
        {
            string result = await run();
            TimeSpan time = Stopwatch.GetElapsedTime(start);
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture, $"{shape,-18} {time.TotalMilliseconds,9:F3} ms   {result}"));
        }
        catch (Exception exception)
        {
            Check(shape, false, exception.Message);
        }
    }

    private void Check(string what, bool isRight, string problem)
    {
        if (!isRight)
        {
            _failures++;
            Console.WriteLine($"{what,-18} NOT AS EXPECTED: {problem}");
        }
    }

    private static async Task<string> ExpectAsync(StatusCode code, string detail, Func<Task> call)
    {
        try
        {
            await call();
        }
        catch (RpcException exception)
        {
            Require(
                exception.StatusCode == code && exception.Status.Detail == detail,
                $"{exception.Status} where {code} '{detail}' was expected");
            return detail.Length == 0 ? $"{code}, as expected" : $"{code} \"{detail}\", as expected";
        }

        throw new InvalidOperationException($"The call succeeded where {code} was expected.");
    }

    private static string Describe(Tick tick)
    {
        Require(tick is { Name: "SHM", Price: 100 }, "a wrong price");
        return string.Create(CultureInfo.InvariantCulture, $"{tick.Name} at {tick.Price}");
    }

    private static void Require(bool isRight, string problem)
    {
        if (!isRight)
        {
            throw new InvalidOperationException(problem);
        }
    }
}
