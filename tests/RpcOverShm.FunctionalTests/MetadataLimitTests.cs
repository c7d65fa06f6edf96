using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>
/// Limits on metadata, and metadata that cannot be sent. Over HTTP/2 it tears the connection or the stream down; here
/// it costs its call only.
/// </summary>
internal sealed class MetadataLimitTests() : RigFixture(RigKind.Shm)
{
    private const int MethodThrew = 301;
    private const int DefaultLimit = 64 << 10;

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
    public async Task Request_BelowTheLimit_Arrives(int bytes)
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
    public async Task Request_OverTheServersLimit_IsResourceExhausted([Values] bool isBlocking)
    {
        await UseAsync(new Script());
        _ = _rig!.Client.Unary(Payloads.Empty);

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => _rig!.Client.Unary(Payloads.Empty, Big(DefaultLimit)))
            : await FailureOf(_rig!.Client.UnaryAsync(Payloads.Empty, Big(DefaultLimit)));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(failure.Status.Detail, Does.Contain("65536"));
    }

    [Test]
    public async Task Limit_Raised_LetsAMegabyteThrough()
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
    public async Task Limit_Zero_TakesNoneButCallsWork()
    {
        await UseAsync(new Script(), new RigOptions { ServerMaxMetadata = 0 });
        _ = _rig!.Client.Unary(Payloads.Empty);

        RpcException failure = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Empty, Big(0)));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public async Task ManyEntries_OverTheLimit_AreCountedWithTheirOverhead()
    {
        await UseAsync(new Script());
        var headers = new Metadata();
        for (int i = 0; i < 2000; i++)
        {
            headers.Add("k" + i, "");
        }

        RpcException failure = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers)));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public async Task ResponseTrailers_OverTheClientsLimit_AreResourceExhausted()
    {
        await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                if (request.Text() == "big")
                {
                    context.ResponseTrailers.Add("big-bin", new byte[DefaultLimit]);
                }

                return Task.FromResult(request);
            },
        });

        RpcException failure = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Of("big")));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public async Task TrailersOfAnException_OverTheClientsLimit_AreResourceExhausted()
    {
        await UseAsync(new Script
        {
            Unary = (request, _) => request.Text() == "big"
                ? throw new RpcException(
                    new Status(StatusCode.NotFound, ""), new Metadata { { "big-bin", new byte[DefaultLimit] } })
                : Task.FromResult(request),
        });

        RpcException failure = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Of("big")));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public async Task ResponseHeaders_OverTheClientsLimit_AreResourceExhausted()
    {
        await UseAsync(new Script
        {
            Unary = async (request, context) =>
            {
                if (request.Text() == "big")
                {
                    await context.WriteResponseHeadersAsync(new Metadata { { "big-bin", new byte[DefaultLimit] } });
                }

                return request;
            },
        });

        RpcException failure = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Of("big")));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [Test]
    public async Task RequestText_ThatIsNotPrintable_FailsTheCall()
    {
        await UseAsync(new Script());
        var options = new CallOptions(new Metadata { { "key", "caf\u00e9" } });

        RpcException awaited = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Empty, options));
        RpcException blocking = await CallFailure.OfBlocking(() => _rig!.Client.Unary(Payloads.Empty, options));

        Assert.That(awaited.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(awaited.Status.Detail, Does.Contain("key"));
        Assert.That(blocking.StatusCode, Is.EqualTo(StatusCode.Internal));
    }

    [Test]
    public async Task ResponseText_ThatIsNotPrintable_FailsTheCall()
    {
        Exception? thrown = null;
        await UseAsync(new Script
        {
            Unary = async (request, context) =>
            {
                if (request.Text() == "headers")
                {
                    try
                    {
                        await context.WriteResponseHeadersAsync(new Metadata { { "key", "line\nbreak" } });
                    }
                    catch (Exception exception)
                    {
                        thrown = exception;
                        throw;
                    }
                }

                if (request.Text() == "trailers")
                {
                    context.ResponseTrailers.Add("key", "line\nbreak");
                }

                return request;
            },
        });
        _rig!.Log.Expect(MethodThrew);

        RpcException headers = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Of("headers")));
        RpcException trailers = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Of("trailers")));

        Assert.That(thrown, Is.InstanceOf<InvalidOperationException>());
        Assert.That(headers.StatusCode, Is.EqualTo(StatusCode.Unknown));
        Assert.That(trailers.StatusCode, Is.EqualTo(StatusCode.Internal));
    }

    [Test]
    public async Task StatusDetail_OfAnySize_Arrives()
    {
        await UseAsync(new Script
        {
            Unary = (request, _) => request.Text() == "big"
                ? throw new RpcException(new Status(StatusCode.Aborted, new string('d', 1_000_000)))
                : Task.FromResult(request),
        });

        RpcException failure = await FailureOf(_rig!.Client.UnaryAsync(Payloads.Of("big")));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Aborted));
        Assert.That(failure.Status.Detail, Does.StartWith("dddd"));
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
