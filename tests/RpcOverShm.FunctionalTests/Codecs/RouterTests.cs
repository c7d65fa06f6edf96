namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>A router between a generated client and its service that forwards messages unparsed.</summary>
internal sealed class RouterTests() : RigFixture(RigKind.Shm)
{
    private static readonly XorCodec s_codec = new("xor-5a", 0x5A);

    [Test]
    public async Task Router_PassesGeneratedMessagesOn_InEveryShape([Values(0, 100, 100_000, 1 << 20)] int bytes)
    {
        ShmRig behind = await StartShmAsync(new Script(), RigOptions.AnySize);
        ShmRig router = await StartShmAsync(RigOptions.AnySize, Route(behind.Invoker));

        Assert.That(await Shapes.RunAllAsync(router.Client, bytes).Bounded(), Is.Empty);
    }

    [Test]
    public async Task Router_PassesAnotherCodecsMessagesOn_UnderItsName()
    {
        var pass = new ShmRawCodec(s_codec.Name);
        ShmRig behind = await StartShmAsync(
            new Script(), RigOptions.AnySize with { ClientCodec = pass, ServerCodecs = [s_codec] });
        ShmRig router = await StartShmAsync(
            RigOptions.AnySize with { ClientCodec = s_codec, ServerCodecs = [pass] }, Route(behind.Invoker));

        Assert.That(await Shapes.RunAllAsync(router.Client, 10_000).Bounded(), Is.Empty);
    }

    [Test]
    public async Task Router_WhoseServiceFails_PassesTheStatusOn()
    {
        ShmRig behind = await StartShmAsync(
            new Script { Unary = (_, _) => throw new RpcException(new Status(StatusCode.DataLoss, "behind")) });
        ShmRig router = await StartShmAsync(options: null, Route(behind.Invoker));

        RpcException failure = await FailureOf(router.Client.UnaryAsync(Payloads.Of("x")));

        Assert.That(failure.Status, Is.EqualTo(new Status(StatusCode.DataLoss, "behind")));
    }

    private static ServerServiceDefinition Route(CallInvoker to) => ServerServiceDefinition.CreateBuilder()
        .AddMethod(
            Untyped(Script.UnaryMethod),
            async (request, context) =>
            {
                using (request)
                {
                    return await to.AsyncUnaryCall(Untyped(Script.UnaryMethod), null, Options(context), request);
                }
            })
        .AddMethod(
            Untyped(Script.ServerStreamMethod),
            async (request, responses, context) =>
            {
                using (request)
                {
                    using AsyncServerStreamingCall<ShmPayload> call = to.AsyncServerStreamingCall(
                        Untyped(Script.ServerStreamMethod), null, Options(context), request);
                    await PumpAsync(call.ResponseStream, responses);
                }
            })
        .AddMethod(
            Untyped(Script.ClientStreamMethod),
            async (requests, context) =>
            {
                using AsyncClientStreamingCall<ShmPayload, ShmPayload> call = to.AsyncClientStreamingCall(
                    Untyped(Script.ClientStreamMethod), null, Options(context));
                await PumpAsync(requests, call.RequestStream);
                await call.RequestStream.CompleteAsync();
                return await call;
            })
        .AddMethod(
            Untyped(Script.DuplexMethod),
            async (requests, responses, context) =>
            {
                using AsyncDuplexStreamingCall<ShmPayload, ShmPayload> call = to.AsyncDuplexStreamingCall(
                    Untyped(Script.DuplexMethod), null, Options(context));
                await Task.WhenAll(RequestsAsync(), PumpAsync(call.ResponseStream, responses));

                async Task RequestsAsync()
                {
                    await PumpAsync(requests, call.RequestStream);
                    await call.RequestStream.CompleteAsync();
                }
            })
        .Build();

    private static async Task PumpAsync(IAsyncStreamReader<ShmPayload> from, IAsyncStreamWriter<ShmPayload> to)
    {
        while (await from.MoveNext(CancellationToken.None))
        {
            using ShmPayload message = from.Current;
            await to.WriteAsync(message);
        }
    }

    private static CallOptions Options(ServerCallContext context) => new(
        deadline: context.Deadline, cancellationToken: context.CancellationToken);

    private static Method<ShmPayload, ShmPayload> Untyped(Method<Payload, Payload> method) => new(
        method.Type, method.ServiceName, method.Name, ShmPayload.Marshaller, ShmPayload.Marshaller);
}
