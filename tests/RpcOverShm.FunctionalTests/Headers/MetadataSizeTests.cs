namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>Metadata over the limits, non-ASCII text and status details: each fails its own call only.</summary>
[EveryRig]
internal sealed class MetadataSizeTests(RigKind kind) : ItemFixture(kind)
{
    // Grpc.Core's limit is 8 KiB.
    private int TooMany => IsDotNet ? 64 << 10 : 20_000;

    [Test]
    [Item("M09")]
    public async Task TextThatIsNoAscii_IsNotPassedOn()
    {
        string? seen = null;
        CallRig rig = await UseAsync(Everywhere(context =>
        {
            seen = context.RequestHeaders.GetValue("key");
            return Task.CompletedTask;
        }));
        var options = new CallOptions(new Metadata { { "key", "caf\u00e9" } });

        Exception? exception = await CatchAsync(() => rig.Client.UnaryAsync(Payloads.Empty, options).ResponseAsync);

        // Grpc.Core replaces characters that it cannot send with a question mark.
        Assert.That((exception as RpcException)?.StatusCode, Is.EqualTo(IsDotNet ? StatusCode.Internal : null));
        Assert.That(seen, Is.EqualTo(IsDotNet ? null : "caf?"));
    }

    [Test]
    [NotOn(
        RigKind.GrpcDotNet,
        "A request over Kestrel's limit resets its stream or connection, with statuses of HTTP.")]
    [Item("M10")]
    public async Task RequestMetadataOverTheLimit_IsResourceExhausted()
    {
        CallRig rig = await UseAsync(new Script());
        _ = rig.Client.Unary(Payloads.Empty);
        var options = new CallOptions(new Metadata { { "big-bin", new byte[TooMany] } });

        foreach (Func<Task<RpcException>> call in CallsOfEveryShape(rig.Client, options))
        {
            RpcException failure = await RefusalOf(call);
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
            Assert.That(failure.Status.Detail, Does.Contain(IsDotNet ? "65536" : "limit"));
        }
    }

    [Test]
    [NotOn(
        RigKind.GrpcDotNet,
        "A request over Kestrel's limit resets its stream or connection, with statuses of HTTP.")]
    [Item("M10")]
    public async Task ManyEntriesOverTheLimit_AreResourceExhausted()
    {
        CallRig rig = await UseAsync(new Script());
        var headers = new Metadata();
        for (int i = 0; i < 2000; i++)
        {
            headers.Add("k" + i, "");
        }

        RpcException failure = await RefusalOf(
            () => FailureOf(rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers))));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [TestCase("headers")]
    [TestCase("trailers")]
    [TestCase("exception")]
    [TestCase("many trailers")]
    [NotOn(RigKind.GrpcDotNet, "HttpClient's limit is Unavailable for gRPC, and does not count entries.")]
    [Item("M10")]
    public async Task ResponseMetadataOverTheLimit_IsResourceExhausted(string where)
    {
        var big = new Metadata { { "big-bin", new byte[TooMany] } };
        CallRig rig = await UseAsync(Everywhere(async context =>
        {
            switch (where)
            {
                case "headers":
                    await context.WriteResponseHeadersAsync(big);
                    break;
                case "trailers":
                    context.ResponseTrailers.Add(big[0]);
                    break;
                case "exception":
                    throw new RpcException(new Status(StatusCode.NotFound, ""), big);
                default:
                    for (int i = 0; i < 2000; i++)
                    {
                        context.ResponseTrailers.Add("k" + i, "");
                    }

                    break;
            }
        }));

        foreach (Func<Task<RpcException>> call in CallsOfEveryShape(rig.Client))
        {
            Assert.That((await RefusalOf(call)).StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        }
    }

    [TestCase("")]
    [TestCase("plain")]
    [TestCase("100% sure, or %20, or %zz")]
    [TestCase("\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001F608\t\n")]
    [Item("M12")]
    public async Task StatusDetailOfAnyText_ArrivesExactly(string detail)
    {
        CallRig rig = await UseAsync(Everywhere(
            _ => throw new RpcException(new Status(StatusCode.Unknown, detail))));

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(failures.Select(failure => failure.Status.Detail), Is.All.EqualTo(detail));
    }

    // Numbers, because results of tests with an unpaired surrogate in their name are not reported.
    [TestCase(0xD83D)]
    [TestCase(0xDE08)]
    [Item("M12")]
    public async Task UnpairedSurrogatesInAStatusDetail_AreReplaced(int half)
    {
        string detail = $"a{(char)half}b";
        CallRig rig = await UseAsync(Everywhere(
            _ => throw new RpcException(new Status(StatusCode.Aborted, detail))));

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(
            failures.Select(failure => failure.Status.Plain()),
            Is.All.EqualTo(new Status(StatusCode.Aborted, "a\uFFFDb")));
    }

    // In about one of a hundred calls the C core drops the connection over such metadata and reports Unavailable; then
    // the call is repeated a few times. On shared memory the first result counts.
    private async Task<RpcException> RefusalOf(Func<Task<RpcException>> call)
    {
        RpcException failure = await call();
        for (int again = 0; again < 5 && !IsDotNet && failure.StatusCode == StatusCode.Unavailable; again++)
        {
            failure = await call();
        }

        return failure;
    }
}
