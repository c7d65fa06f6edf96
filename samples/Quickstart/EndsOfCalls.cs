using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>Makes calls that fail, and checks that each has the status code that gRPC specifies.</summary>
internal sealed class EndsOfCalls(ShmChannel channel)
{
    private readonly Ticker.TickerClient _client = new(channel);

    public async Task ShowAsync(Report report, string codec)
    {
        await report.ShowAsync(
            codec, "error status", () => ExpectAsync(StatusCode.NotFound, "No symbol 'XYZ'.", AskForUnknownAsync));
        await report.ShowAsync(
            codec, "deadline", () => ExpectAsync(StatusCode.DeadlineExceeded, "", WatchPastDeadlineAsync));
        await report.ShowAsync(codec, "cancelled stream", CancelAsync);
    }

    private static async Task<string> ExpectAsync(StatusCode code, string detail, Func<Task> call)
    {
        try
        {
            await call();
        }
        catch (RpcException exception)
        {
            Report.Require(
                exception.StatusCode == code && exception.Status.Detail == detail,
                $"{exception.Status} where {code} '{detail}' was expected");
            return $"{code}, as expected";
        }

        throw new InvalidOperationException($"The call succeeded where {code} was expected.");
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
            Report.Require(await call.ResponseStream.MoveNext(CancellationToken.None), "the stream ended early");
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
}
