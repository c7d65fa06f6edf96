using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>
/// The client's calls, which know no transport. Each returns what describes all that it was answered: messages, status,
/// headers and trailers; the text is made later, outside the measured time. They leave the stock as it is, so any
/// number of them has the same answers.
/// </summary>
internal sealed class DepotCalls(ChannelBase channel)
{
    private static readonly string[] s_articles = ["bolt", "nut", "washer"];

    private readonly Depot.DepotClient _client = new(channel);

    /// <summary>The calls by name, in order; the time of those that wait for a time to pass says nothing.</summary>
    public IReadOnlyList<(string Name, Func<Task<Func<string>>> Run, bool IsTimed)> All =>
    [
        ("blocking unary", TakeBlocking, true),
        ("async unary", TakeAsync, true),
        ("server stream", ListAsync, true),
        ("client stream", DeliverAsync, true),
        ("duplex stream", CompareAsync, true),
        ("error", TakeTooManyAsync, true),
        ("no such method", CallUnknownAsync, true),
        ("deadline", MissDeadlineAsync, false),
        ("cancellation", CancelAsync, false),
    ];

    private static CallOptions Options =>
        new(new Metadata { { DepotService.TimeZoneKey, "Europe/Oslo" }, { CallerInterceptor.CallerKey, "visitor" } });

    private Task<Func<string>> TakeBlocking()
    {
        Parts left = _client.Take(Nothing("bolt"));
        return Task.FromResult<Func<string>>(() => $"{left}");
    }

    private async Task<Func<string>> TakeAsync()
    {
        using AsyncUnaryCall<Parts> call = _client.TakeAsync(Nothing("nut"), Options);
        Parts left = await call;
        Metadata headers = await call.ResponseHeadersAsync;
        return Later(() => $"{left}", call.GetStatus(), call.GetTrailers(), headers);
    }

    private async Task<Func<string>> ListAsync()
    {
        using AsyncServerStreamingCall<Parts> call = _client.List(new ListRequest(), Options);
        var parts = new List<Parts>();
        await foreach (Parts one in call.ResponseStream.ReadAllAsync())
        {
            parts.Add(one);
        }

        Metadata headers = await call.ResponseHeadersAsync;
        return Later(() => string.Join("", parts), call.GetStatus(), call.GetTrailers(), headers);
    }

    private async Task<Func<string>> DeliverAsync()
    {
        using AsyncClientStreamingCall<Parts, Receipt> call = _client.Deliver(Options);
        for (int i = 0; i < 10; i++)
        {
            await call.RequestStream.WriteAsync(Nothing("nut"));
        }

        await call.RequestStream.CompleteAsync();
        Receipt receipt = await call;
        Metadata headers = await call.ResponseHeadersAsync;
        return Later(() => $"{receipt}", call.GetStatus(), call.GetTrailers(), headers);
    }

    private async Task<Func<string>> CompareAsync()
    {
        using AsyncDuplexStreamingCall<Parts, Difference> call = _client.Compare(Options);
        var differences = new List<Difference>();
        foreach (string article in s_articles)
        {
            await call.RequestStream.WriteAsync(Nothing(article));
            await call.ResponseStream.MoveNext(CancellationToken.None);
            differences.Add(call.ResponseStream.Current);
        }

        await call.RequestStream.CompleteAsync();
        bool hasMore = await call.ResponseStream.MoveNext(CancellationToken.None);
        Metadata headers = await call.ResponseHeadersAsync;
        return Later(
            () => $"{string.Join("", differences)}{(hasMore ? " and more" : "")}",
            call.GetStatus(),
            call.GetTrailers(),
            headers);
    }

    private Task<Func<string>> TakeTooManyAsync() =>
        FailAsync(async () => await _client.TakeAsync(new Parts { Name = "nut", Quantity = 1000 }, Options));

    private Task<Func<string>> CallUnknownAsync()
    {
        Marshaller<Parts> marshaller = Marshallers.Create(_ => [], Parts.Parser.ParseFrom);
        var unknown = new Method<Parts, Parts>(
            MethodType.Unary, Depot.Descriptor.FullName, "Lend", marshaller, marshaller);
        return FailAsync(async () => await channel.CreateCallInvoker().AsyncUnaryCall(
            unknown, host: null, Options, Nothing("nut")));
    }

    // Client and server watch the deadline, and whose answer is first is a matter of luck: only the code is compared.
    private async Task<Func<string>> MissDeadlineAsync()
    {
        DateTime deadline = DateTime.UtcNow.AddMilliseconds(100);
        Func<string> failure = await FailAsync(async () => await _client.AuditAsync(
            new AuditRequest(), Options.WithDeadline(deadline)));
        return () => failure().Split(' ')[0];
    }

    private async Task<Func<string>> CancelAsync()
    {
        using var cancellation = new CancellationTokenSource();
        using AsyncServerStreamingCall<Parts> call = _client.List(
            new ListRequest { IsEndless = true }, Options.WithCancellationToken(cancellation.Token));
        await call.ResponseStream.MoveNext(CancellationToken.None);
        Parts first = call.ResponseStream.Current;
        await cancellation.CancelAsync();
        Func<string> failure = await FailAsync(async () =>
        {
            while (await call.ResponseStream.MoveNext(CancellationToken.None))
            {
            }
        });
        return () => $"{first} {failure()}";
    }

    private static async Task<Func<string>> FailAsync(Func<Task> call)
    {
        try
        {
            await call();
            return () => "no failure";
        }
        catch (RpcException failure)
        {
            return Later(() => "", failure.Status, failure.Trailers, headers: []);
        }
    }

    private static Func<string> Later(Func<string> answer, Status status, Metadata trailers, Metadata headers) => () =>
        $"{status.StatusCode} \"{status.Detail}\" {answer()} headers {Describe(headers)} trailers {Describe(trailers)}";

    // HTTP adds headers of its own to the answer: the date and the name of the server.
    private static string Describe(Metadata entries) => string.Join(", ", entries
        .Where(entry => entry.Key is not "date" and not "server")
        .Select(entry => $"{entry.Key}={(entry.IsBinary ? Convert.ToHexString(entry.ValueBytes) : entry.Value)}")
        .Order(StringComparer.Ordinal));

    private static Parts Nothing(string article) => new() { Name = article, Quantity = 0 };
}
