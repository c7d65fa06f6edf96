using Google.Protobuf;
using RpcOverShm.FunctionalTests.Codecs;
using RpcOverShm.FunctionalTests.Protos;

namespace RpcOverShm.FunctionalTests.Loans;

/// <summary>Generated messages with a payload, over stubs, and peers that have only the contract.</summary>
internal sealed class StubTests : LoanFixture
{
    private const int Block = 64 << 10;
    private const int MethodThrew = 301;
    private const string Service = "rpcovershm.testing.frames.Frames";

    private readonly FrameService _service = new(IsShared);

    private static EchoMethods<Frame> WithPayload { get; } = new(Service, MarshallerOf(Frame.Parser));

    private static EchoMethods<PlainFrame> WithoutPayload { get; } = new(Service, MarshallerOf(PlainFrame.Parser));

    [Test]
    [LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
    public async Task Frame_OverAStub_IsLentBothWays(
        [Values] MethodType shape, [Values(Block, (3 * MiB) + 1)] int length)
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(service: Frames.BindService(_service));
        for (byte round = 1; round <= 3; round++)
        {
            using ShmPayload payload = await RentAsync(channel, length, round);
            var request = new Frame { Width = round, Label = "a frame", Payload = payload };
            Frame response = await CallStubAsync(new Frames.FramesClient(channel.CreateCallInvoker()), shape, request);

            AssertAnswer(response, round, length);
            Assert.That(_service.WasRequestLent);
            Assert.That(round == 1 || IsShared(response.Payload!), "The client has mapped the first response's file.");
            payload.Dispose();
            response.Payload!.Dispose();
            await AssertAllBackAsync(rig, channel);
            await Timeouts.Eventually(() => LoansOf(rig).Lent.MappedBytes >= length);
        }
    }

    [Test]
    public async Task Frame_WithoutLoans_IsCopied(
        [Values] MethodType shape, [Values(1, 1000, Block, 3 * MiB)] int length)
    {
        ShmRig rig = await StartShmAsync(RigOptions.AnySize, Frames.BindService(_service));
        ShmChannel channel = rig.OpenChannel();
        using ShmPayload payload = channel.RentPayload(length);
        payload.Memory.Span.Fill(1);
        var request = new Frame { Width = 1, Label = "a frame", Payload = payload };

        Frame response = await CallStubAsync(new Frames.FramesClient(channel.CreateCallInvoker()), shape, request);

        AssertAnswer(response, 1, length);
        Assert.That((_service.WasRequestLent, IsShared(response.Payload!)), Is.EqualTo((false, false)));
        response.Payload!.Dispose();
    }

    [Test]
    public async Task Client_WithTheContractAlone_CallsAServiceWithPayloads([Values] MethodType shape)
    {
        (_, ShmChannel channel) = await StartLendingAsync(service: Frames.BindService(_service));
        for (byte round = 1; round <= 2; round++)
        {
            var request = new PlainFrame { Width = round, Data = Filled(MiB, round), Label = "a frame" };
            PlainFrame response =
                await WithoutPayload.EchoAsync(channel.CreateCallInvoker(), shape, request).Bounded();

            Assert.That((response.Width, response.Label), Is.EqualTo((round + 1, "a frame")));
            Assert.That(response.Data, Is.EqualTo(request.Data));
        }
    }

    [Test]
    public async Task Service_WithTheContractAlone_IsCalledWithPayloads([Values] MethodType shape)
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(service: WithoutPayload.Build());
        for (byte round = 1; round <= 2; round++)
        {
            using ShmPayload payload = await PayloadOfAsync(channel, round);
            var request = new Frame { Width = round, Label = "a frame", Payload = payload };
            Frame response = await WithPayload.EchoAsync(channel.CreateCallInvoker(), shape, request).Bounded();

            Assert.That((response.Width, response.Label), Is.EqualTo((round, "a frame")));
            AssertFilled(response.Payload!, MiB, round);
            response.Payload!.Dispose();
        }

        // The generated parser has copied what it needs, so nothing stays lent.
        await AssertAllBackIfLentAsync(rig, channel);
    }

    [Test]
    public async Task Frame_WithFieldsOfMoreThanARecord_IsCopied()
    {
        (_, ShmChannel channel) = await StartLendingAsync(service: Frames.BindService(_service));
        using ShmPayload payload = await PayloadOfAsync(channel, 1);
        var request = new Frame { Width = 1, Label = new string('x', 5000), Payload = payload };

        Frame response = await new Frames.FramesClient(channel.CreateCallInvoker()).UnaryAsync(request)
            .ResponseAsync.Bounded();

        AssertFilled(response.Payload!, MiB, 1);
        Assert.That((response.Label, _service.WasRequestLent), Is.EqualTo((request.Label, false)));
        response.Payload!.Dispose();
    }

    [Test]
    public async Task Frame_WithAnEmptyPayloadOrNone_IsItself()
    {
        (_, ShmChannel channel) = await StartLendingAsync(service: Frames.BindService(_service));
        var client = new Frames.FramesClient(channel.CreateCallInvoker());
        using ShmPayload empty = ShmPayload.Wrap(default(ReadOnlyMemory<byte>));

        Frame ofEmpty = await client.UnaryAsync(new Frame { Width = 1, Payload = empty }).ResponseAsync.Bounded();
        Frame ofNone = await client.UnaryAsync(new Frame { Width = 2 }).ResponseAsync.Bounded();

        Assert.That((ofEmpty.Width, ofEmpty.Payload!.Length), Is.EqualTo((2, 0L)));
        Assert.That((ofNone.Width, ofNone.Payload), Is.EqualTo((3, (ShmPayload?)null)));
    }

    [Test]
    public async Task Frame_WithAPayloadAndBytesInItsField_IsNotSent()
    {
        (_, ShmChannel channel) = await StartLendingAsync(service: Frames.BindService(_service));
        using ShmPayload payload = await PayloadOfAsync(channel, 1);
        var request = new Frame { Data = Filled(3, 1), Payload = payload };

        RpcException failure = await CallFailure.OfAsync(
            new Frames.FramesClient(channel.CreateCallInvoker()).UnaryAsync(request).ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.DebugException!.Message, Does.Contain("a payload and bytes in field 3"));
    }

    [TestCase("0801", 2, -1, TestName = "Bytes_WithoutTheField")]
    [TestCase("1A0205060801", 2, 2, TestName = "Bytes_WithTheFieldFirst")]
    [TestCase("08011A0205061A020506", 0, 0, TestName = "Bytes_WithTheFieldTwice")]
    [TestCase("08011A030506", 0, 0, TestName = "Bytes_WithALengthOfOneTooMany")]
    [TestCase("08011AFFFFFFFF0F0506", 0, 0, TestName = "Bytes_WithALengthOf4GiB")]
    [TestCase("08011AFFFFFFFFFFFFFFFFFF010506", 0, 0, TestName = "Bytes_WithALengthOf64Bits")]
    [TestCase("08011A", 0, 0, TestName = "Bytes_WithoutTheLength")]
    [TestCase("180508011B1C", 2, -1, TestName = "Bytes_WithTheFieldsNumberForOtherTypes")]
    [TestCase("1B1A020506", 0, 0, TestName = "Bytes_WithTheFieldInAGroupWithoutEnd")]
    public async Task Bytes_OfAPeer_AreAFrameOrFail(string bytes, int width, int length)
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(service: Frames.BindService(_service));
        var raw = new Method<byte[], byte[]>(
            MethodType.Unary, Service, "Unary", BytesService.Plain, BytesService.Plain);
        Task<byte[]> call = channel.CreateCallInvoker().AsyncUnaryCall(raw, null, default, Convert.FromHexString(bytes))
            .ResponseAsync;

        if (width > 0)
        {
            PlainFrame response = PlainFrame.Parser.ParseFrom(await call.Bounded());
            Assert.That((response.Width, response.Data.Length), Is.EqualTo((width, Math.Max(0, length))));
        }
        else
        {
            rig.Log.Expect(MethodThrew);
            Assert.That((await CallFailure.OfAsync(call)).StatusCode, Is.EqualTo(StatusCode.Unknown));
        }

        Assert.That(rig.Server.Sessions, Is.Not.Empty, "The connection goes on.");
    }

    private static Marshaller<T> MarshallerOf<T>(MessageParser<T> parser)
        where T : class, IMessage<T> => Marshallers.Create(
            static (message, context) =>
            {
                context.SetPayloadLength(message.CalculateSize());
                message.WriteTo(context.GetBufferWriter());
                context.Complete();
            },
            context => parser.ParseFrom(context.PayloadAsReadOnlySequence()));

    private static ByteString Filled(int length, byte fill)
    {
        byte[] bytes = new byte[length];
        Array.Fill(bytes, fill);
        return UnsafeByteOperations.UnsafeWrap(bytes);
    }

    private static void AssertAnswer(Frame response, byte round, int length)
    {
        Assert.That((response.Width, response.Label), Is.EqualTo((round + 1, "a frame")));
        Assert.That(response.Data.IsEmpty);
        AssertFilled(response.Payload!, length, round);
    }

    // Filled, and lent where that is possible.
    private static async Task<ShmPayload> PayloadOfAsync(ShmChannel channel, byte fill)
    {
        if (channel.Connections.Current!.Loans is not null)
        {
            return await RentAsync(channel, MiB, fill);
        }

        ShmPayload payload = channel.RentPayload(MiB);
        payload.Memory.Span.Fill(fill);
        return payload;
    }

    private static Task AssertAllBackIfLentAsync(ShmRig rig, ShmChannel channel) =>
        channel.Connections.Current!.Loans is null ? Task.CompletedTask : AssertAllBackAsync(rig, channel);

    private static async Task<Frame> CallStubAsync(Frames.FramesClient client, MethodType shape, Frame request)
    {
        switch (shape)
        {
            case MethodType.Unary:
                return await client.UnaryAsync(request).ResponseAsync.Bounded();
            case MethodType.ClientStreaming:
                using (AsyncClientStreamingCall<Frame, Frame> call = client.ClientStreaming())
                {
                    await call.RequestStream.WriteAsync(request).Bounded();
                    await call.RequestStream.CompleteAsync().Bounded();
                    return await call.ResponseAsync.Bounded();
                }

            case MethodType.ServerStreaming:
                using (AsyncServerStreamingCall<Frame> call = client.ServerStreaming(request))
                {
                    Assert.That(await call.ResponseStream.MoveNext().Bounded());
                    return call.ResponseStream.Current;
                }

            default:
                using (AsyncDuplexStreamingCall<Frame, Frame> call = client.DuplexStreaming())
                {
                    await call.RequestStream.WriteAsync(request).Bounded();
                    await call.RequestStream.CompleteAsync().Bounded();
                    Assert.That(await call.ResponseStream.MoveNext().Bounded());
                    return call.ResponseStream.Current;
                }
        }
    }
}
