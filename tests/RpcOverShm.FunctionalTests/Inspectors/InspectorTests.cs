using RpcOverShm.FunctionalTests.Codecs;
using RpcOverShm.FunctionalTests.Telemetry;

namespace RpcOverShm.FunctionalTests.Inspectors;

/// <summary>Message inspectors see each message.</summary>
internal sealed class InspectorTests : InspectorFixture
{
    private static readonly CallOptions s_withHeader = new(new Metadata { { "key", "h" } });

    private static readonly CallCredentials s_token = CallCredentials.FromInterceptor((_, metadata) =>
    {
        metadata.Add("authorization", "token");
        return Task.CompletedTask;
    });

    private static readonly EchoMethods<byte[]> s_arrays = new("test.Arrays", BytesService.Plain);
    private static readonly EchoMethods<ShmPayload> s_payloads = new("test.Payloads", ShmPayload.Marshaller);

    [Test]
    public async Task Unary_ShowsRequestAndResponse_OnBothSides([Values] bool isBlocking)
    {
        (_, ShmChannel channel) = await StartInspectedAsync(
            new Script { Unary = (request, _) => Task.FromResult(Payloads.Of(request.Text() + "!")) });

        for (int i = 0; i < 2; i++)
        {
            Payload answer = isBlocking
                ? await Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("ask"), s_withHeader)).Bounded()
                : await To(channel).UnaryAsync(Payloads.Of("ask"), s_withHeader).ResponseAsync.Bounded();
            Assert.That(answer.Text(), Is.EqualTo("ask!"));
        }

        string[] client = ["Unary sent request 0 h ask", "Unary received response 0 h ask!"];
        string[] server = ["Unary received request 0 h ask", "Unary sent response 0 h ask!"];
        Assert.That(AtClient.All.Select(seen => $"{seen}"), Is.EqualTo(client.Concat(client)));
        Assert.That(AtServer.All.Select(seen => $"{seen}"), Is.EqualTo(server.Concat(server)));
        Assert.That(AtServer.All[0].Method, Is.EqualTo("/rpcovershm.testing.Script/Unary"));
    }

    [Test]
    public async Task Duplex_ShowsEachMessageWithItsIndex()
    {
        (_, ShmChannel channel) = await StartInspectedAsync(new Script());

        using AsyncDuplexStreamingCall<Payload, Payload> call = To(channel).Duplex(s_withHeader);
        for (int i = 0; i < 3; i++)
        {
            await call.RequestStream.WriteAsync(Payloads.Of($"m{i}")).Bounded();
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        }

        await call.RequestStream.CompleteAsync().Bounded();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);

        Assert.That(
            AtClient.All.Select(seen => $"{seen}"),
            Is.EqualTo(Enumerable.Range(0, 3).SelectMany(i => new[]
            {
                $"Duplex sent request {i} h m{i}", $"Duplex received response {i} h m{i}",
            })));
        Assert.That(
            AtServer.All.Select(seen => $"{seen}"),
            Is.EqualTo(Enumerable.Range(0, 3).SelectMany(i => new[]
            {
                $"Duplex received request {i} h m{i}", $"Duplex sent response {i} h m{i}",
            })));
    }

    [Test]
    public async Task EveryShape_IsAnsweredAsWithoutInspectors(
        [Values(0, 1000, 40_000, 1_000_000)] int bytes, [Values(null, "gzip")] string? compression)
    {
        (_, ShmChannel channel) = await StartInspectedAsync(
            new Script(), RigOptions.AnySize with { ResponseCompression = compression });

        Assert.That(await Shapes.RunAllAsync(To(channel), bytes).Bounded(), Is.Empty);

        Assert.That(AtClient.All, Has.Count.EqualTo(AtServer.All.Count).And.Count.GreaterThanOrEqualTo(10));
        Assert.That(
            AtClient.All.Where(seen => seen.Index == 0).Select(seen => Payload.Parser.ParseFrom(seen.Bytes)),
            Has.All.Matches((Payload payload) => payload.Data.Length == bytes), "They are not compressed here.");
    }

    [Test]
    public async Task CompressedRequests_AreShownPlain()
    {
        (_, ShmChannel channel) = await StartInspectedAsync(new Script());
        var options = new CallOptions(new Metadata { { "grpc-internal-encoding-request", "gzip" } });

        await To(channel).UnaryAsync(Payloads.OfSize(10_000), options).ResponseAsync.Bounded();

        Assert.That(
            AtClient.All.Concat(AtServer.All).Select(seen => Payload.Parser.ParseFrom(seen.Bytes).IsOfSize(10_000)),
            Is.EqualTo(new[] { true, true, true, true }));
    }

    [Test]
    public async Task Codec_ItsBytesAreShown_AndItsMarshallersAreMadeOnce()
    {
        const byte Mask = 0x5A;
        var xor = new XorCodec("xor", Mask);
        (_, ShmChannel channel) = await StartInspectedAsync(
            new Script(), new RigOptions { ServerCodecs = [xor] }, options => options.Codec = xor);

        await To(channel).UnaryAsync(Payloads.Of("ask")).ResponseAsync.Bounded();
        int made = xor.Made;
        await To(channel).UnaryAsync(Payloads.Of("ask")).ResponseAsync.Bounded();

        Assert.That(xor.Made, Is.EqualTo(made));
        foreach (Seen seen in AtClient.All.Concat(AtServer.All))
        {
            byte[] plain = [.. seen.Bytes.Select(b => (byte)(b ^ Mask))];
            Assert.That(Payload.Parser.ParseFrom(plain).Text(), Is.EqualTo("ask"));
        }
    }

    [Test]
    public async Task RawMessages_ComeBack(
        [Values] MethodType shape, [Values(0, 100, 20_000, 300_000)] int bytes, [Values] bool isPooled)
    {
        (_, ShmChannel channel) = await StartInspectedAsync(
            RigOptions.AnySize with { ServerCodecs = [ShmRawCodec.Instance] },
            options => options.Codec = ShmRawCodec.Instance,
            isPooled ? s_payloads.Build() : s_arrays.Build());
        byte[] message = BytePattern.Of(bytes, 3);

        for (int i = 0; i < 3; i++)
        {
            byte[] echo = await EchoAsync(channel.CreateCallInvoker(), shape, message, isPooled);
            Assert.That(echo.AsSpan().SequenceEqual(message));
        }

        Assert.That(AtServer.All.Concat(AtClient.All), Has.Exactly(12).Items);
        Assert.That(AtServer.All.Concat(AtClient.All).All(seen => seen.Bytes.AsSpan().SequenceEqual(message)));
    }

    [Test]
    public async Task PooledResponse_IsDisposedByTheServer()
    {
        var returned = ShmPayload.Wrap(new byte[100]);
        ServerServiceDefinition service = ServerServiceDefinition.CreateBuilder()
            .AddMethod(s_payloads.Of(MethodType.Unary), (request, _) =>
            {
                request.Dispose();
                return Task.FromResult(returned);
            })
            .Build();
        (_, ShmChannel channel) = await StartInspectedAsync(null, null, service);

        using ShmPayload request = ShmPayload.Wrap(new byte[10]);
        using ShmPayload answer = await s_payloads.EchoAsync(
            channel.CreateCallInvoker(), MethodType.Unary, request).Bounded();

        Assert.That(answer.Length, Is.EqualTo(100));
        Assert.That(() => returned.Length, Throws.TypeOf<ObjectDisposedException>());
    }

    [Test]
    public async Task Batch_IsShownToo()
    {
        (_, ShmChannel channel) = await StartInspectedAsync(new Script());
        using ShmCallBatch batch = channel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);
        Task<Payload>[] calls =
            [.. Enumerable.Range(0, 5).Select(i => client.UnaryAsync(Payloads.Of($"{i}")).ResponseAsync)];

        await batch.SendAsync().Bounded();
        await Task.WhenAll(calls).Bounded();

        Assert.That(
            AtClient.All.Where(seen => seen.IsRequest).Select(seen => seen.Text),
            Is.EqualTo("01234".Select(c => $"{c}")));
        Assert.That(AtServer.All, Has.Count.EqualTo(10));
    }

    [Test]
    public async Task RetriedCall_ShowsItsRequestOnceAndEachAttemptToTheServer()
    {
        (_, ShmChannel channel) = await StartInspectedAsync(
            FailingFirst(1),
            options: null,
            options => options.ServiceConfig = new RigRetries(3, StatusCode.Unavailable).ToServiceConfig());

        await To(channel).UnaryAsync(Payloads.Of("ask")).ResponseAsync.Bounded();

        Assert.That(
            AtClient.All.Select(seen => $"{seen}"),
            Is.EqualTo(new[] { "Unary sent request 0  ask", "Unary received response 0  ask" }));
        Assert.That(AtServer.All.Count(seen => seen.IsRequest), Is.EqualTo(2));
    }

    // Not what the library and the credentials add.
    [Test]
    public async Task RequestHeaders_AtTheClient_AreThoseOfTheOptions([Values] bool isRetried)
    {
        using var recorder = new TelemetryRecorder();
        (_, ShmChannel channel) = await StartInspectedAsync(
            FailingFirst(isRetried ? 1 : 0),
            options: null,
            options =>
            {
                options.ServiceConfig = isRetried
                    ? new RigRetries(3, StatusCode.Unavailable).ToServiceConfig()
                    : null;
                options.Credentials = ChannelCredentials.Create(ChannelCredentials.SecureSsl, s_token);
            });

        _ = await Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("ask"), s_withHeader)).Bounded();
        await To(channel).UnaryAsync(Payloads.Of("ask"), s_withHeader).ResponseAsync.Bounded();

        Assert.That(AtClient.All, Has.Count.EqualTo(4));
        Assert.That(AtClient.All.Select(seen => seen.Keys), Is.All.EqualTo("key"));
        Assert.That(AtServer.All[^1].Keys, Does.Contain("traceparent").And.Contain("authorization"));
    }

    [Test]
    public async Task Callbacks_AreShownOnBothSides()
    {
        (_, ShmChannel channel) = await StartInspectedAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    var back = new ScriptClient(context.GetShmSession().CreateCallInvoker());
                    using AsyncClientStreamingCall<Payload, Payload> call = back.ClientStream();
                    await call.RequestStream.WriteAsync(request);
                    await call.RequestStream.CompleteAsync();
                    return await call;
                },
            },
            options: null,
            options => options.Callbacks.Services.Add(new Script().Build()));

        await To(channel).UnaryAsync(Payloads.Of("ask")).ResponseAsync.Bounded();

        Assert.That(
            AtServer.All.Where(seen => seen.Method.EndsWith("ClientStream", StringComparison.Ordinal))
                .Select(seen => $"{seen}"),
            Is.EqualTo(new[] { "ClientStream sent request 0  ask", "ClientStream received response 0  ask" }));
        Assert.That(
            AtClient.All.Where(seen => seen.Method.EndsWith("ClientStream", StringComparison.Ordinal))
                .Select(seen => $"{seen}"),
            Is.EqualTo(new[] { "ClientStream received request 0  ask", "ClientStream sent response 0  ask" }));
    }

    // A service that is not ready for as many attempts.
    private static Script FailingFirst(int attempts) => new()
    {
        Unary = (request, _) => Interlocked.Decrement(ref attempts) >= 0
            ? throw new RpcException(new Status(StatusCode.Unavailable, "not yet"))
            : Task.FromResult(request),
    };

    private static async Task<byte[]> EchoAsync(CallInvoker invoker, MethodType shape, byte[] message, bool isPooled)
    {
        if (!isPooled)
        {
            return await s_arrays.EchoAsync(invoker, shape, message).Bounded();
        }

        using ShmPayload request = ShmPayload.Wrap(message);
        using ShmPayload echo = await s_payloads.EchoAsync(invoker, shape, request).Bounded();
        return echo.ToArray();
    }
}
