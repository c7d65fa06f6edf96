using RpcOverShm.MessagePack;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>Codecs that replace the generated marshallers.</summary>
internal sealed class CodecTests() : RigFixture(RigKind.Shm)
{
    private readonly XorCodec _xor = new("xor-5a", 0x5A);

    [Test]
    public async Task Codec_OfBothSides_CarriesEveryShape()
    {
        ShmRig rig = await StartShmAsync(new Script(), new RigOptions { ClientCodec = _xor, ServerCodecs = [_xor] });

        Assert.That(await Shapes.RunAllAsync(rig.Client, 10_000).Bounded(), Is.Empty);
        Assert.That(_xor.Made, Is.GreaterThan(0));
    }

    [Test]
    public async Task MessagePack_CarriesEveryShape([Values(0, 100, 10_000, 300_000)] int bytes)
    {
        ShmRig rig = await StartShmAsync(
            new Script(),
            RigOptions.AnySize with
            {
                ClientCodec = ShmMessagePackCodec.Instance,
                ServerCodecs = [ShmMessagePackCodec.Instance],
            });

        Assert.That(await Shapes.RunAllAsync(rig.Client, bytes).Bounded(), Is.Empty);
    }

    [Test]
    public async Task Codec_ReplacesTheGeneratedMarshallers_OnTheWire()
    {
        // The server's codec has the same name but flips other bits, so it cannot parse the request.
        var other = new XorCodec(_xor.Name, 0x3C);
        ShmRig rig = await StartShmAsync(new Script(), new RigOptions { ClientCodec = _xor, ServerCodecs = [other] });
        rig.Log.Expect(301);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Of("unreadable")));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unknown));
    }

    [Test]
    public async Task Codec_TheServerDoesNotOffer_IsUnimplementedBeforeAnyHandler()
    {
        int handled = 0;
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    Interlocked.Increment(ref handled);
                    return Task.FromResult(request);
                },
                Duplex = (_, _, _) =>
                {
                    Interlocked.Increment(ref handled);
                    return Task.CompletedTask;
                },
            },
            new RigOptions { ClientCodec = _xor, ServerCodecs = [new XorCodec("other", 1)] });

        RpcException unary = await FailureOf(rig.Client.UnaryAsync(Payloads.Of("x")));
        RpcException duplex = await FailureOf(rig.Client.Duplex().ResponseStream.ToListAsync());

        foreach (RpcException failure in new[] { unary, duplex })
        {
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
            Assert.That(
                failure.Status.Detail, Does.Contain("'xor-5a'").And.Contains("'other'").And.Contains("'proto'"));
        }

        Assert.That(handled, Is.Zero);
    }

    [Test]
    public async Task Codec_TheServerOffersBesides_LeavesOtherClientsAlone()
    {
        ShmRig rig = await StartShmAsync(new Script(), new RigOptions { ServerCodecs = [_xor] });
        ShmChannel withCodec = rig.OpenChannel(options => options.Codec = _xor);

        Payload plain = await rig.Client.UnaryAsync(Payloads.Of("plain")).ResponseAsync.Bounded();
        Payload flipped = await new ScriptClient(withCodec.CreateCallInvoker()).UnaryAsync(Payloads.Of("flipped"))
            .ResponseAsync.Bounded();

        Assert.That(plain.Text() + flipped.Text(), Is.EqualTo("plainflipped"));
    }

    [Test]
    public async Task Marshallers_AreMadeOnceForEachMethodAndDirection()
    {
        ShmRig rig = await StartShmAsync(new Script(), new RigOptions { ClientCodec = _xor, ServerCodecs = [_xor] });

        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        int made = _xor.Made;
        for (int i = 0; i < 100; i++)
        {
            await rig.Client.UnaryAsync(Payloads.OfSize(i)).ResponseAsync.Bounded();
        }

        Assert.That(_xor.Made, Is.EqualTo(made));
    }
}
