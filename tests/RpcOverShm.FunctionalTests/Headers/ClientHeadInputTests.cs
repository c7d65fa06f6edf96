using RpcOverShm.FunctionalTests.CallShapes;

namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>
/// Call heads that cannot be sent: each fails its own call only, in every shape. <see cref="MetadataLimitTests"/>
/// covers the size limits.
/// </summary>
internal sealed class ClientHeadInputTests() : RigFixture(RigKind.Shm)
{
    private ShmRig? _rig;

    [TearDown]
    public async Task ConnectionLivesAsync()
    {
        if (_rig is { } rig)
        {
            _rig = null;
            Payload response = await rig.Client.UnaryAsync(Payloads.Of("still")).ResponseAsync.Bounded();
            Assert.That(response.Text(), Is.EqualTo("still"));
            Assert.That(rig.Log.Of(100), Has.Count.EqualTo(2), "one connection, logged by both sides");
        }
    }

    [TestCase("with space")]
    [TestCase("with:colon")]
    [TestCase("ümlaut")]
    [TestCase("line\nbreak")]
    public void HeaderKey_Illegal_IsRefusedWhereTheEntryIsMade(string key) =>
        Assert.That(() => new Metadata.Entry(key, "value"), Throws.ArgumentException);

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task HeaderKey_Empty_FailsItsCall(MethodType shape)
    {
        // Metadata accepts an empty key.
        await UseAsync(new Script());

        RpcException failure = await FailureWithAsync(shape, new Metadata { { "", "value" } });

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
    }

    [Test]
    public async Task HeaderValue_ThatIsNotPrintable_IsInternal(
        [ValueSource(typeof(AnyCall), nameof(AnyCall.Shapes))] MethodType shape,
        [Values("caf\u00e9", "line\nbreak", "nul\0", "lone \uD800 half")] string value)
    {
        await UseAsync(new Script());

        RpcException failure = await FailureWithAsync(shape, new Metadata { { "key", value } });

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.Contain("'key'"));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Headers_OverTheServersLimit_AreResourceExhausted(MethodType shape)
    {
        await UseAsync(new Script());

        RpcException failure = await FailureWithAsync(shape, new Metadata { { "big-bin", new byte[64 << 10] } });

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Headers_TooManyToCount_FailTheirCall(MethodType shape)
    {
        await UseAsync(new Script());
        var headers = new Metadata();
        for (int i = 0; i < 70_000; i++)
        {
            headers.Add("k", "");
        }

        RpcException failure = await FailureWithAsync(shape, headers);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.Contain("70000 entries"));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task HeaderKey_TooLong_FailsItsCall(MethodType shape)
    {
        await UseAsync(new Script());

        RpcException failure = await FailureWithAsync(shape, new Metadata { { new string('k', 70_000), "" } });

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.Contain("70000 characters"));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    public async Task Host_TooLong_FailsItsCall(MethodType shape)
    {
        await UseAsync(new Script());
        var invoker = new FixedHostInvoker(_rig!.Invoker, new string('h', 70_000));

        RpcException failure = await FailureOf(AnyCall.Start(invoker, shape).Outcome);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Is.EqualTo("The host has more than 65535 bytes."));
    }

    [Test]
    public async Task Host_WithUnpairedSurrogates_ArrivesWithThemReplaced([Values] bool isBlocking)
    {
        await UseAsync(new Script
        {
            Unary = (request, context) => Task.FromResult(
                request.Text() == "host" ? Payloads.Of(context.Host) : request),
        });
        var client = new ScriptClient(new FixedHostInvoker(_rig!.Invoker, "a\uD83Db\uDE00"));

        Payload response = isBlocking
            ? await Timeouts.OnThread(() => client.Unary(Payloads.Of("host"))).Bounded()
            : await client.UnaryAsync(Payloads.Of("host")).ResponseAsync.Bounded();

        Assert.That(response.Text(), Is.EqualTo("a\uFFFDb\uFFFD"));
    }

    private Task<RpcException> FailureWithAsync(MethodType shape, Metadata headers) =>
        FailureOf(AnyCall.Start(_rig!.Invoker, shape, new CallOptions(headers)).Outcome);

    private async Task UseAsync(Script script) => _rig = await StartShmAsync(script);
}
