using System.Globalization;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>Makes calls of every shape through the generated client, with the codec of the channel.</summary>
internal sealed class GeneratedCalls(ShmChannel channel)
{
    private static readonly Symbol s_symbol = new() { Name = "SHM" };

    private readonly Ticker.TickerClient _client = new(channel);

    public async Task ShowAsync(Report report, string codec)
    {
        await report.ShowUnaryAsync(codec, "blocking unary", () => Task.FromResult(_client.Latest(s_symbol)), Describe);
        await report.ShowUnaryAsync(
            codec, "async unary", () => _client.LatestAsync(s_symbol).ResponseAsync, Describe);
        await report.ShowAsync(codec, "batch", BatchAsync, 1000);
        await report.ShowAsync(codec, "server stream", WatchAsync, 1000);
        await report.ShowAsync(codec, "client stream", RecordAsync, 1000);
        await report.ShowAsync(codec, "duplex stream", TradeAsync, 100);
    }

    private static string Describe(Tick tick)
    {
        Report.Require(tick is { Name: "SHM", Price: 100 }, "a wrong price");
        return string.Create(CultureInfo.InvariantCulture, $"{tick.Name} at {tick.Price}");
    }

    private async Task<string> BatchAsync()
    {
        // snippet: batch
        using ShmCallBatch batch = channel.CreateBatch();
        var client = new Ticker.TickerClient(batch.CallInvoker);
        AsyncUnaryCall<Tick>[] calls =
            [.. Enumerable.Range(0, 1000).Select(_ => client.LatestAsync(new Symbol { Name = "SHM" }))];
        await batch.SendAsync();
        Tick[] ticks = await Task.WhenAll(calls.Select(call => call.ResponseAsync));
        // end snippet
        Report.Require(ticks.All(tick => tick.Name == "SHM"), "an answer is another call's");
        return $"{ticks.Length} calls in one publication, each answered";
    }

    private async Task<string> WatchAsync()
    {
        using AsyncServerStreamingCall<Tick> call = _client.Watch(new WatchRequest { Name = "SHM", Count = 1000 });
        long expected = 0;
        while (await call.ResponseStream.MoveNext(CancellationToken.None))
        {
            Report.Require(
                call.ResponseStream.Current.Sequence == expected++, "a message is missing or out of order");
        }

        Report.Require(
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
        Report.Require(summary is { Count: 1000, Average: 499.5 }, $"{summary.Count} of 1000, {summary.Average}");
        return string.Create(CultureInfo.InvariantCulture, $"{summary.Count} messages, average {summary.Average}");
    }

    private async Task<string> TradeAsync()
    {
        using AsyncDuplexStreamingCall<Order, Fill> call = _client.Trade();
        for (int i = 1; i <= 100; i++)
        {
            await call.RequestStream.WriteAsync(new Order { Name = "SHM", Quantity = i });
            Report.Require(await call.ResponseStream.MoveNext(CancellationToken.None), "the stream ended early");
            Report.Require(call.ResponseStream.Current.Quantity == i, $"order {i} was answered with another");
        }

        await call.RequestStream.CompleteAsync();
        Report.Require(!await call.ResponseStream.MoveNext(CancellationToken.None), "more answers than orders");
        return "100 orders, each answered before the next";
    }
}
