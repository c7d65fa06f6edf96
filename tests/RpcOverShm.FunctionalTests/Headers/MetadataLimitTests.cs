namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>
/// Metadata over the limits. Over HTTP/2 it closes the stream or the connection; here it fails its own call only.
/// </summary>
internal sealed class MetadataLimitTests() : RigFixture(RigKind.Shm)
{
    private const int DefaultLimit = 64 << 10;
    private const int LongestDetail = 16 << 10;

    private ShmRig? _rig;

    [TearDown]
    public async Task ConnectionLivesAsync()
    {
        if (_rig is { } rig)
        {
            _rig = null;
            Assert.That(
                (await rig.Client.UnaryAsync(Payloads.Of("still")).ResponseAsync.Bounded()).Text(),
                Is.EqualTo("still"));
            Assert.That(rig.Served, Has.Count.EqualTo(1));
            Assert.That(
                rig.Log.Of(100), Has.Count.EqualTo(2), "one connection was opened, and is logged by both sides");
        }
    }

    [TestCase(1000)]
    [TestCase(20_000)]
    [TestCase(DefaultLimit - 100)]
    [Item("M10")]
    public async Task RequestMetadataBelowTheLimit_Arrives(int bytes)
    {
        int seen = 0;
        await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                Interlocked.Add(ref seen, context.RequestHeaders.GetValueBytes("big-bin")?.Length ?? 0);
                return Task.FromResult(request);
            },
        });

        await _rig!.Client.UnaryAsync(Payloads.Empty, Big(bytes)).ResponseAsync.Bounded();

        Assert.That(seen, Is.EqualTo(bytes));
    }

    [Test]
    [Item("M10")]
    public async Task LimitRaised_LetsAMegabyteThrough()
    {
        const int Bytes = 1 << 20;
        var options = new RigOptions
        {
            ServerMaxMetadata = 2 << 20,
            ClientMaxMetadata = 2 << 20,
            RingCapacity = 64 << 10,
        };
        await UseAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    await context.WriteResponseHeadersAsync(Echoed(context));
                    context.ResponseTrailers.Add(Echoed(context)[0]);
                    return request;
                },
            },
            options);

        using AsyncUnaryCall<Payload> call = _rig!.Client.UnaryAsync(Payloads.Of("x"), Big(Bytes));
        await call.ResponseAsync.Bounded();

        Assert.That((await call.ResponseHeadersAsync).GetValueBytes("big-bin"), Has.Length.EqualTo(Bytes));
        Assert.That(call.GetTrailers().GetValueBytes("big-bin"), Has.Length.EqualTo(Bytes));
    }

    [Test]
    [Item("M10")]
    public async Task LimitZero_TakesNoneButCallsWork()
    {
        await UseAsync(new Script(), new RigOptions { ServerMaxMetadata = 0 });
        _ = _rig!.Client.Unary(Payloads.Empty);

        RpcException failure = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Empty, Big(0)));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    // A status detail has its own limit, so that no limit on metadata hides the reason from the client.
    [TestCase(LongestDetail)]
    [TestCase(LongestDetail + 1)]
    [TestCase(1_000_000)]
    [Item("M12")]
    public async Task StatusDetailOfAnySize_ArrivesUpToItsBound(int length)
    {
        string detail = string.Concat(Enumerable.Range(100_000, (length / 6) + 1))[..length];
        await UseAsync(new Script
        {
            Unary = (request, _) => request.Text() == "big"
                ? throw new RpcException(new Status(StatusCode.Aborted, detail))
                : Task.FromResult(request),
        });

        RpcException failure = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Of("big")));

        string expected = length == LongestDetail
            ? detail
            : $"{detail[..LongestDetail]}... (cut, {length} characters)";
        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Aborted, expected)));
    }

    [Test]
    public async Task Host_OfAnyLength_FailsItsCallAtMost([Values(10, 70_000)] int length, [Values] bool isBlocking)
    {
        await UseAsync(new Script
        {
            Unary = (request, context) => Task.FromResult(
                request.Text() == "host" ? Payloads.Of(context.Host) : request),
        });
        string host = new('h', length);

        Payload? response = null;
        RpcException? failure = null;
        try
        {
            response = isBlocking
                ? await Timeouts.OnThread(() => _rig!.Invoker.BlockingUnaryCall(
                    Script.UnaryMethod, host, default, Payloads.Of("host"))).Bounded()
                : await _rig!.Invoker.AsyncUnaryCall(
                    Script.UnaryMethod, host, default, Payloads.Of("host")).ResponseAsync.Bounded();
        }
        catch (RpcException exception)
        {
            failure = exception;
        }

        Assert.That(response?.Text() ?? host, Is.EqualTo(host));
        Assert.That(failure is null, Is.EqualTo(length < ushort.MaxValue));
    }

    private static CallOptions Big(int bytes) => new(new Metadata { { "big-bin", new byte[bytes] } });

    private static Metadata Echoed(ServerCallContext context) =>
        context.RequestHeaders.Count == 0 ? [new Metadata.Entry("none", "")] : [context.RequestHeaders[0]];

    private async Task UseAsync(Script script, RigOptions? options = null) =>
        _rig = await StartShmAsync(script, options);
}
