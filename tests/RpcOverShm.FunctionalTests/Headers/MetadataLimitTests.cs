namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>
/// Metadata over the limits. Over HTTP/2 it closes the stream or the connection; here it fails its own call only.
/// </summary>
internal sealed class MetadataLimitTests() : ItemFixture(RigKind.Shm)
{
    private const int DefaultLimit = 64 << 10;
    private const int LongestDetail = 16 << 10;

    [TestCase(1000)]
    [TestCase(20_000)]
    [TestCase(DefaultLimit - 100)]
    [Item("M10")]
    public async Task RequestMetadataBelowTheLimit_Arrives(int bytes)
    {
        int seen = 0;
        CallRig rig = await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                Interlocked.Add(ref seen, context.RequestHeaders.GetValueBytes("big-bin")?.Length ?? 0);
                return Task.FromResult(request);
            },
        });

        await rig.Client.UnaryAsync(Payloads.Empty, Big(bytes)).ResponseAsync.Bounded();

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
        CallRig rig = await UseAsync(
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

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("x"), Big(Bytes));
        await call.ResponseAsync.Bounded();

        Assert.That((await call.ResponseHeadersAsync).GetValueBytes("big-bin"), Has.Length.EqualTo(Bytes));
        Assert.That(call.GetTrailers().GetValueBytes("big-bin"), Has.Length.EqualTo(Bytes));
    }

    [Test]
    [Item("M10")]
    public async Task LimitZero_TakesNoneButCallsWork()
    {
        CallRig rig = await UseAsync(new Script(), new RigOptions { ServerMaxMetadata = 0 });
        _ = rig.Client.Unary(Payloads.Empty);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty, Big(0)));

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
        CallRig rig = await UseAsync(new Script
        {
            Unary = (request, _) => request.Text() == "big"
                ? throw new RpcException(new Status(StatusCode.Aborted, detail))
                : Task.FromResult(request),
        });

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Of("big")));

        string expected = length == LongestDetail
            ? detail
            : $"{detail[..LongestDetail]}... (cut, {length} characters)";
        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Aborted, expected)));
    }

    private static CallOptions Big(int bytes) => new(new Metadata { { "big-bin", new byte[bytes] } });

    private static Metadata Echoed(ServerCallContext context) =>
        context.RequestHeaders.Count == 0 ? [new Metadata.Entry("none", "")] : [context.RequestHeaders[0]];
}
