namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>Arrays and payloads travel unchanged, in any size and every shape.</summary>
[Parallelizable]
internal sealed class RawEchoTests() : RigFixture(RigKind.Shm)
{
    // Methods without marshallers: only a codec can serialise the messages.
    private static readonly EchoMethods<byte[]> s_arrays = new("test.Arrays");
    private static readonly EchoMethods<ShmPayload> s_payloads = new("test.Payloads");

    private static readonly RigOptions s_raw = RigOptions.AnySize with
    {
        ClientCodec = ShmRawCodec.Instance,
        ServerCodecs = [ShmRawCodec.Instance],
    };

    [Test]
    public async Task Array_OfAnySize_ComesBack(
        [Values] MethodType shape,
        [Values(0, 1, 100, 1023, 1024, 16 << 10, (16 << 10) + 1, 40_000, 100_000, (1 << 20) + 7, 3_000_000)] int bytes)
    {
        ShmRig rig = await StartShmAsync(s_raw, s_arrays.Build());
        byte[] message = BytePattern.Of(bytes, (ulong)bytes);

        // Twice, because the way the first message is read decides how the next ones are received.
        byte[] first = await s_arrays.EchoAsync(rig.Invoker, shape, message).Bounded();
        byte[] second = await s_arrays.EchoAsync(rig.Invoker, shape, message).Bounded();

        SameBytes.Assert(first, message);
        SameBytes.Assert(second, message);
        Assert.That(bytes == 0 || second != first, "Each receiver has one of its own.");
    }

    [Test]
    public async Task Array_ThatIsCompressed_ComesBack(
        [Values] MethodType shape, [Values(100, 10_000, 300_000)] int bytes)
    {
        ShmRig rig = await StartShmAsync(s_raw with { ResponseCompression = "gzip" }, s_arrays.Build());
        byte[] message = BytePattern.Of(bytes, (ulong)bytes);
        byte[] first = await s_arrays.EchoAsync(rig.Invoker, shape, message).Bounded();
        byte[] second = await s_arrays.EchoAsync(rig.Invoker, shape, message).Bounded();

        SameBytes.Assert(first, message);
        SameBytes.Assert(second, message);
    }

    [Test]
    public async Task Array_ThatACodecHasOnlyForNow_IsSentAsItWasThen([Values(1000, 10_000, 50_000)] int bytes)
    {
        var codec = new ScratchCodec();
        ShmRig rig = await StartShmAsync(
            RigOptions.AnySize with { ClientCodec = codec, ServerCodecs = [codec] }, s_arrays.Build());
        byte[] message = BytePattern.Of(bytes, (ulong)bytes);

        byte[] echo = await s_arrays.EchoAsync(rig.Invoker, MethodType.Unary, message).Bounded();

        SameBytes.Assert(echo, message);
    }

    // Changing a message in use is not allowed; here it shows whether waiting requests were copied. The ring has room
    // for few of them, and the first calls have no connection yet.
    [Test]
    public async Task Array_ThatHasToWait_IsSentAsItWas([Values(1000, 8192, 32_768, 50_000)] int bytes)
    {
        ShmRig rig = await StartShmAsync(s_raw with { RingCapacity = 64 << 10 }, s_arrays.Build());
        byte[] message = new byte[bytes];
        var calls = new List<Task<byte[]>>();
        for (int i = 0; i < 100; i++)
        {
            Array.Fill(message, (byte)i);
            calls.Add(s_arrays.EchoAsync(rig.Invoker, MethodType.Unary, message));
        }

        byte[][] echoes = await Task.WhenAll(calls).Bounded();

        Assert.That(echoes.Select(echo => echo.Length), Is.All.EqualTo(bytes));
        Assert.That(
            echoes.Select((echo, i) => echo.AsSpan().IndexOfAnyExcept((byte)i)), Is.All.EqualTo(-1));
    }

    [Test]
    public async Task Array_ThatAMethodAlwaysReturns_StaysItsOwn([Values(1024, 8192, 32_768, 65_536)] int bytes)
    {
        byte[] answer = BytePattern.Of(bytes, (ulong)bytes);
        byte[] before = [.. answer];
        ShmRig rig = await StartShmAsync(
            s_raw with { RingCapacity = 64 << 10 },
            ServerServiceDefinition.CreateBuilder()
                .AddMethod(
                    s_arrays.Of(MethodType.Unary), (byte[] _, ServerCallContext _) => Task.FromResult(answer))
                .Build());

        // If the array had been returned to the pool, later requests would be written into it.
        byte[][] answers = await Task.WhenAll(Enumerable.Range(0, 200).Select(
            _ => s_arrays.EchoAsync(rig.Invoker, MethodType.Unary, new byte[bytes]))).Bounded();

        foreach (byte[] one in answers)
        {
            SameBytes.Assert(one, before);
        }

        SameBytes.Assert(answer, before);
    }

    [Test]
    public async Task Payload_OfAnySize_ComesBack(
        [Values] MethodType shape,
        [Values(0, 1, 100, 16 << 10, (16 << 10) + 1, 100_000, (1 << 20) + 7, 3_000_000)] int bytes)
    {
        ShmRig rig = await StartShmAsync(s_raw, s_payloads.Build());
        byte[] message = BytePattern.Of(bytes, (ulong)bytes);
        using ShmPayload request = ShmPayload.Wrap(message);

        for (int i = 0; i < 3; i++)
        {
            using ShmPayload echo = await s_payloads.EchoAsync(rig.Invoker, shape, request).Bounded();

            Assert.That(echo.Length, Is.EqualTo(bytes));
            SameBytes.Assert(echo.ToArray(), message);
        }
    }

    [Test]
    public async Task Payload_ThatIsCompressed_ComesBack([Values(100, 300_000)] int bytes)
    {
        ShmRig rig = await StartShmAsync(s_raw with { ResponseCompression = "gzip" }, s_payloads.Build());
        byte[] message = BytePattern.Of(bytes, (ulong)bytes);
        var options = new CallOptions([new Metadata.Entry("grpc-internal-encoding-request", "gzip")]);

        using ShmPayload request = ShmPayload.CopyOf(new(message));
        using ShmPayload echo = await rig.Invoker
            .AsyncUnaryCall(s_payloads.Of(MethodType.Unary), null, options, request).ResponseAsync.Bounded();

        SameBytes.Assert(echo.ToArray(), message);
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
        byte[] message = BytePattern.Of(bytes, (ulong)bytes);

        using ShmPayload request = ShmPayload.Wrap(message);
        using ShmPayload echo = await methods.EchoAsync(rig.Invoker, shape, request).Bounded();

        SameBytes.Assert(echo.ToArray(), message);
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

    /// <summary>Writes raw bytes through an array that it overwrites immediately afterwards.</summary>
    private sealed class ScratchCodec : ShmCodec
    {
        public override string Name => "scratch";

        public override Marshaller<T>? CreateMarshaller<T>(Marshaller<T> generated)
        {
            if (ShmRawCodec.Instance.CreateMarshaller(generated) is not Marshaller<byte[]> raw)
            {
                return null;
            }

            return (Marshaller<T>)(object)Marshallers.Create(
                (byte[] message, SerializationContext context) =>
                {
                    byte[] scratch = [.. message];
                    raw.ContextualSerializer(scratch, context);
                    Array.Clear(scratch);
                },
                raw.ContextualDeserializer);
        }
    }
}
