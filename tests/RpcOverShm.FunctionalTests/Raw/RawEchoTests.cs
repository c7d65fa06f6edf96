using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;

namespace RpcOverShm.FunctionalTests.Raw;

/// <summary>Arrays and payloads go and come as they are, whatever their size, in every shape.</summary>
internal sealed class RawEchoTests() : RigFixture(RigKind.Shm)
{
    // Neither can serialise anything: only a codec can.
    private static readonly EchoMethods<byte[]> s_arrays = new("test.Arrays", Unusable<byte[]>());
    private static readonly EchoMethods<ShmPayload> s_payloads = new("test.Payloads", Unusable<ShmPayload>());

    private static readonly RigOptions s_raw = RigOptions.AnySize with
    {
        ClientCodec = ShmRawCodec.Instance,
        ServerCodecs = [ShmRawCodec.Instance],
    };

    [Test]
    public async Task Array_OfAnySize_ComesBack(
        [Values] MethodType shape,
        [Values(0, 1, 100, 16 << 10, (16 << 10) + 1, 100_000, (1 << 20) + 7, 3_000_000)] int bytes,
        [Values] bool isInPlace)
    {
        ShmRig rig = await StartShmAsync(s_raw with { ParsesInPlace = isInPlace }, s_arrays.Build());
        byte[] message = RandomBytes(bytes);

        byte[] echo = await s_arrays.EchoAsync(rig.Invoker, shape, message).Bounded();

        Assert.That(echo.AsSpan().SequenceEqual(message));
    }

    [Test]
    public async Task Payload_OfAnySize_ComesBack(
        [Values] MethodType shape,
        [Values(0, 1, 100, 16 << 10, (16 << 10) + 1, 100_000, (1 << 20) + 7, 3_000_000)] int bytes,
        [Values] bool isInPlace)
    {
        ShmRig rig = await StartShmAsync(s_raw with { ParsesInPlace = isInPlace }, s_payloads.Build());
        byte[] message = RandomBytes(bytes);
        using ShmPayload request = ShmPayload.Wrap(message);

        for (int i = 0; i < 3; i++)
        {
            using ShmPayload echo = await s_payloads.EchoAsync(rig.Invoker, shape, request).Bounded();

            Assert.That(echo.Length, Is.EqualTo(bytes));
            Assert.That(echo.ToArray().AsSpan().SequenceEqual(message));
        }
    }

    [Test]
    public async Task Payload_ThatIsCompressed_ComesBack([Values(100, 300_000)] int bytes)
    {
        ShmRig rig = await StartShmAsync(s_raw with { ResponseCompression = "gzip" }, s_payloads.Build());
        byte[] message = RandomBytes(bytes);
        var options = new CallOptions([new Metadata.Entry("grpc-internal-encoding-request", "gzip")]);

        using ShmPayload request = ShmPayload.CopyOf(new(message));
        using ShmPayload echo = await rig.Invoker
            .AsyncUnaryCall(s_payloads.Of(MethodType.Unary), null, options, request).ResponseAsync.Bounded();

        Assert.That(echo.ToArray().AsSpan().SequenceEqual(message));
    }

    [Test]
    public async Task Payload_OverTheLimit_IsRefusedAndTheNextOneTaken([Values] bool isSent)
    {
        ShmRig rig = await StartShmAsync(
            s_raw with { ServerMaxReceive = isSent ? null : 1000, ClientMaxSend = isSent ? 1000 : null },
            s_payloads.Build());
        using ShmPayload large = ShmPayload.Wrap(new byte[100_000]);
        using ShmPayload small = ShmPayload.Wrap(new byte[1000]);

        RpcException failure = await FailureOf(s_payloads.EchoAsync(rig.Invoker, MethodType.Unary, large));
        using ShmPayload echo = await s_payloads.EchoAsync(rig.Invoker, MethodType.Unary, small).Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(echo.Length, Is.EqualTo(1000));
    }

    [Test]
    public async Task Payload_OverGrpcCore_ComesBackToo([Values] MethodType shape, [Values(1, 100_000)] int bytes)
    {
        var methods = new EchoMethods<ShmPayload>("test.Payloads", ShmPayload.Marshaller);
        await using CallRig rig = await CallRig.StartAsync(
            RigKind.GrpcCore, RigOptions.AnySize, methods.Build());
        byte[] message = RandomBytes(bytes);

        using ShmPayload request = ShmPayload.Wrap(message);
        using ShmPayload echo = await methods.EchoAsync(rig.Invoker, shape, request).Bounded();

        Assert.That(echo.ToArray().AsSpan().SequenceEqual(message));
    }

    [Test]
    public async Task RawCodec_ForAGeneratedMessage_HasNoForm()
    {
        ShmRig rig = await StartShmAsync(new Script(), s_raw);
        ShmChannel sameName = rig.OpenChannel(options => options.Codec = new XorCodec("raw", 1));

        RpcException refused = await FailureOf(
            new ScriptClient(sameName.CreateCallInvoker()).UnaryAsync(Payloads.Of("x")));

        Assert.That(
            () => rig.Client.UnaryAsync(Payloads.Of("x")),
            Throws.InvalidOperationException.With.Message.Contains("'raw'").And.Message.Contains("Payload"));
        Assert.That(refused.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
        Assert.That(refused.Status.Detail, Does.Contain("'raw'").And.Contains("'proto'"));
    }

    private static byte[] RandomBytes(int length)
    {
        byte[] bytes = new byte[length];
        new Random(length).NextBytes(bytes);
        return bytes;
    }

    private static Marshaller<T> Unusable<T>() => Marshallers.Create<T>(
        static (_, _) => throw new NotSupportedException(), static _ => throw new NotSupportedException());
}
