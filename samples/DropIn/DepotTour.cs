using Grpc.Core;
using Grpc.Core.Interceptors;

namespace RpcOverShm.Samples;

/// <summary>
/// A client written for Grpc.Core; it works with any channel. Its output has nothing that differs from run to run, so
/// the output of two runs can be compared.
/// </summary>
internal sealed class DepotTour
{
    private readonly CallerInterceptor _interceptor = new("tour");
    private readonly Depot.DepotClient _client;
    private readonly List<string> _said = [];

    private DepotTour(ChannelBase channel) => _client = new Depot.DepotClient(channel.Intercept(_interceptor));

    /// <summary>Makes calls of all kinds. Returns one line of output for each.</summary>
    public static async Task<IReadOnlyList<string>> RunAsync(ChannelBase channel)
    {
        var tour = new DepotTour(channel);
        tour.Say("blocking unary", tour.TakeBlocking());
        tour.Say("async unary", await tour.TakeAsync());
        tour.Say("metadata", await tour.ReadMetadataAsync());
        tour.Say("server stream", await tour.ListAsync());
        tour.Say("client stream", await tour.DeliverAsync());
        tour.Say("duplex stream", await tour.CompareAsync());
        tour.Say("error", await tour.TakeTooManyAsync());
        tour.Say("deadline", await tour.AuditPastDeadlineAsync());
        tour.Say("cancellation", await tour.CancelListAsync());
        tour.Say("interceptor", $"noted {string.Join(", ", tour._interceptor.Methods)}");
        return tour._said;
    }

    private string TakeBlocking()
    {
        Parts left = _client.Take(new Parts { Name = "bolt", Quantity = 1 });
        return Describe(left);
    }

    private async Task<string> TakeAsync()
    {
        Parts left = await _client.TakeAsync(new Parts { Name = "bolt", Quantity = 2 });
        return Describe(left);
    }

    private async Task<string> ReadMetadataAsync()
    {
        var sent = new Metadata { { DepotService.TimeZoneKey, "Europe/Oslo" } };
        using AsyncUnaryCall<Parts> call = _client.TakeAsync(new Parts { Name = "nut", Quantity = 80 }, sent);
        Metadata headers = await call.ResponseHeadersAsync;
        Parts left = await call;
        return $"{Describe(left)}; header {headers.GetValue(DepotService.TimeZoneKey)}, "
            + $"signed {call.GetTrailers().GetValue(SigningInterceptor.SignatureKey)}, {call.GetStatus().StatusCode}";
    }

    private async Task<string> ListAsync()
    {
        using AsyncServerStreamingCall<Parts> call = _client.List(new ListRequest());
        var parts = new List<string>();
        while (await call.ResponseStream.MoveNext(CancellationToken.None))
        {
            parts.Add(Describe(call.ResponseStream.Current));
        }

        return $"{string.Join(", ", parts)}, then {call.GetStatus().StatusCode}";
    }

    private async Task<string> DeliverAsync()
    {
        using AsyncClientStreamingCall<Parts, Receipt> call = _client.Deliver();
        for (int i = 1; i <= 100; i++)
        {
            await call.RequestStream.WriteAsync(new Parts { Name = "screw", Quantity = i });
        }

        await call.RequestStream.CompleteAsync();
        Receipt receipt = await call;
        return $"{receipt.Deliveries} deliveries of {receipt.Quantity} parts";
    }

    private async Task<string> CompareAsync()
    {
        using AsyncDuplexStreamingCall<Parts, Difference> call = _client.Compare();
        var differences = new List<string>();
        foreach (string name in new[] { "bolt", "screw", "washer" })
        {
            await call.RequestStream.WriteAsync(new Parts { Name = name, Quantity = 90 });
            bool isAnswered = await call.ResponseStream.MoveNext(CancellationToken.None);
            differences.Add(isAnswered ? $"{name} {call.ResponseStream.Current.Missing}" : $"{name} unanswered");
        }

        await call.RequestStream.CompleteAsync();
        bool hasMore = await call.ResponseStream.MoveNext(CancellationToken.None);
        return $"missing {string.Join(", ", differences)}, then {(hasMore ? "more" : call.GetStatus().StatusCode)}";
    }

    private async Task<string> TakeTooManyAsync()
    {
        RpcException failure = await FailureOf(
            StatusCode.FailedPrecondition,
            async () => await _client.TakeAsync(new Parts { Name = "bolt", Quantity = 1000 }));
        Metadata trailers = failure.Trailers;
        return $"{failure.StatusCode} \"{failure.Status.Detail}\", left {trailers.GetValue(DepotService.LeftKey)}, "
            + $"seal {Convert.ToHexString(trailers.GetValueBytes(DepotService.SealKey) ?? [])}, "
            + $"signed {trailers.GetValue(SigningInterceptor.SignatureKey)}";
    }

    private async Task<string> AuditPastDeadlineAsync()
    {
        DateTime deadline = DateTime.UtcNow.AddMilliseconds(300);
        RpcException failure = await FailureOf(
            StatusCode.DeadlineExceeded,
            async () => await _client.AuditAsync(new AuditRequest(), deadline: deadline));
        return failure.StatusCode.ToString();
    }

    private async Task<string> CancelListAsync()
    {
        using var cancellation = new CancellationTokenSource();
        using AsyncServerStreamingCall<Parts> call = _client.List(
            new ListRequest { IsEndless = true }, cancellationToken: cancellation.Token);
        bool hasFirst = await call.ResponseStream.MoveNext(CancellationToken.None);
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(StatusCode.Cancelled, async () =>
        {
            while (await call.ResponseStream.MoveNext(CancellationToken.None))
            {
            }
        });
        string before = hasFirst ? "a message" : "no message";
        return $"{before}, then {failure.StatusCode}; {call.GetStatus().StatusCode} it stays";
    }

    private void Say(string what, string happened) => _said.Add($"{what,-15} {happened}");

    private static string Describe(Parts parts) => $"{parts.Name} {parts.Quantity}";

    private static async Task<RpcException> FailureOf(StatusCode expected, Func<Task> call)
    {
        try
        {
            await call();
        }
        catch (RpcException exception) when (exception.StatusCode == expected)
        {
            return exception;
        }

        throw new InvalidOperationException($"A call succeeded that was to end {expected}.");
    }
}
