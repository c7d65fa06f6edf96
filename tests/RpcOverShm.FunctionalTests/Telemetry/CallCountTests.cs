using RpcOverShm.Diagnostics;
using RpcOverShm.FunctionalTests.Callbacks;

namespace RpcOverShm.FunctionalTests.Telemetry;

/// <summary>Calls of each kind are in the meters of client and server as often as they were made.</summary>
internal sealed class CallCountTests : CallbackFixture
{
    private const int Calls = 20;
    private const string Unary = $"{Script.ServiceName}/Unary";
    private const string Callback = $"{Script.ServiceName}/ServerStream";
    private const string Client = "rpc.client.call.duration";
    private const string Server = "rpc.server.call.duration";

    private TelemetryRecorder _recorder = null!;
    private int _waiting;

    [SetUp]
    public void Listen()
    {
        _recorder = new TelemetryRecorder();
        _waiting = 0;
    }

    [TearDown]
    public void StopListening() => _recorder.Dispose();

    [Test]
    public async Task CallsOfOneKind_AreCountedOnBothSides(
        [Values("ok", "no", "wait", "back")] string kind, [Values] bool isBlocking)
    {
        ScriptClient client = To(await OpenAsync());

        await MakeAsync(client, kind, isBlocking);

        await AssertCountedAsync(ExpectedOf(kind));
    }

    [Test]
    public async Task OneWayCalls_AreCountedByTheServer_AndThoseThatFailAgain()
    {
        long failed = FailedOneWay();
        ShmChannel channel = await OpenAsync();
        var client = new ScriptClient(channel.CreateOneWayInvoker());

        for (int i = 0; i < Calls; i++)
        {
            _ = await client.UnaryAsync(Payloads.Of("ok")).ResponseAsync.Bounded();
            _ = await client.UnaryAsync(Payloads.Of("no")).ResponseAsync.Bounded();
        }

        await AssertCountedAsync([$"{Server} {Unary} OK -", $"{Server} {Unary} NOT_FOUND -"]);
        await Timeouts.Eventually(() => FailedOneWay() == failed + Calls);
    }

    [Test]
    public async Task CallsOfAllKinds_AtOnce_AreAllCounted()
    {
        long failed = FailedOneWay();
        long active = _recorder.Read(TelemetryNames.ClientActiveCalls);
        ShmChannel channel = await OpenAsync();
        var oneWay = new ScriptClient(channel.CreateOneWayInvoker());
        string[] kinds = ["ok", "no", "wait", "back"];

        Task[] calls = [.. kinds.Select(kind => MakeAsync(To(channel), kind, isBlocking: false))];
        for (int i = 0; i < Calls; i++)
        {
            _ = await oneWay.UnaryAsync(Payloads.Of("no")).ResponseAsync.Bounded();
        }

        await Task.WhenAll(calls).Bounded();
        await AssertCountedAsync([.. kinds.SelectMany(ExpectedOf), $"{Server} {Unary} NOT_FOUND -"]);
        await Timeouts.Eventually(() => FailedOneWay() == failed + Calls);
        await Timeouts.Eventually(() => _recorder.Read(TelemetryNames.ClientActiveCalls) == active);
    }

    /// <summary>Returns what one call of a kind adds to the meters.</summary>
    private static string[] ExpectedOf(string kind) => kind switch
    {
        "ok" => [$"{Client} {Unary} OK -", $"{Server} {Unary} OK -"],
        "no" => [$"{Client} {Unary} NOT_FOUND NOT_FOUND", $"{Server} {Unary} NOT_FOUND -"],
        "wait" => [$"{Client} {Unary} CANCELLED CANCELLED", $"{Server} {Unary} CANCELLED -"],
        _ => [.. ExpectedOf("ok"), $"{Client} {Callback} OK -", $"{Server} {Callback} OK -"],
    };

    private async Task<ShmChannel> OpenAsync()
    {
        (_, ShmChannel channel) = await StartAsync(new Script { Unary = AnswerAsync }, new Script());
        return channel;
    }

    private async Task<Payload> AnswerAsync(Payload request, ServerCallContext context)
    {
        switch (request.Text())
        {
            case "no":
                throw new RpcException(new Status(StatusCode.NotFound, "none"));
            case "wait":
                Interlocked.Increment(ref _waiting);
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
                break;
            case "back":
                using (AsyncServerStreamingCall<Payload> call = Back(context).ServerStream(request))
                {
                    await call.ResponseStream.ToListAsync();
                }

                break;
        }

        return request;
    }

    /// <summary>Makes calls of a kind at the same time. Those that wait are cancelled when all of them do.</summary>
    private async Task MakeAsync(ScriptClient client, string kind, bool isBlocking)
    {
        using var source = new CancellationTokenSource();
        var options = new CallOptions(cancellationToken: source.Token);
        Task[] calls =
        [
            .. Enumerable.Range(0, Calls).Select(_ => isBlocking
                ? Timeouts.OnThread(() => client.Unary(Payloads.Of(kind), options))
                : client.UnaryAsync(Payloads.Of(kind), options).ResponseAsync),
        ];
        if (kind == "wait")
        {
            await Timeouts.Eventually(() => Volatile.Read(ref _waiting) == Calls);
            await source.CancelAsync();
        }

        foreach (Task call in calls)
        {
            await (kind is "no" or "wait" ? CallFailure.OfAsync(call) : call.Bounded());
        }
    }

    private long FailedOneWay() => _recorder.Read(TelemetryNames.OneWayFailed, nameof(StatusCode.NotFound));

    /// <summary>Waits for the durations of calls, and checks that they are those that each call has added.</summary>
    private async Task AssertCountedAsync(string[] expectedOfOne)
    {
        await Timeouts.Eventually(() => _recorder.Durations.Count >= expectedOfOne.Length * Calls);
        Assert.That(
            _recorder.Durations.CountBy(one => $"{one.Name} {one.Method} {one.Status} {one.Error ?? "-"}"),
            Is.EquivalentTo(expectedOfOne.CountBy(one => one)
                .Select(one => KeyValuePair.Create(one.Key, one.Value * Calls))));
    }
}
