using Grpc.Core.Interceptors;
using RpcOverShm.FunctionalTests.Interceptors;

namespace RpcOverShm.FunctionalTests.CallShapes;

/// <summary>The members of channels, invokers, readers and writers.</summary>
[EveryRig]
internal sealed class MemberTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    [Item("B1")]
    public async Task Target_IsTheAddressThatWasGiven()
    {
        CallRig rig = await StartAsync(new Script());

        string start = rig is ShmRig shm ? shm.Address : IsDotNet ? "localhost" : "127.0.0.1:";
        Assert.That(rig.Channel.Target, Does.StartWith(start));
    }

    [Test]
    [Item("B2")]
    public async Task CreateCallInvoker_AgainAndAgain_CallsOnOneConnection()
    {
        CallRig rig = await StartAsync(new Script());

        for (int i = 0; i < 3; i++)
        {
            var client = new ScriptClient(rig.Channel.CreateCallInvoker());
            Assert.That((await client.UnaryAsync(Payloads.OfSize(i)).ResponseAsync.Bounded()).IsOfSize(i));
        }

        if (rig is ShmRig shm)
        {
            Assert.That(shm.Served, Has.Count.EqualTo(1));
        }
    }

    [Test]
    [Item("B3")]
    public async Task ShutdownAsync_EndsTheChannelAndMayBeRepeated()
    {
        CallRig rig = await StartAsync(new Script());
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        await rig.ShutDownChannelAsync().Bounded();
        Exception? again = await Thrown.InAllAsync(rig.Channel.ShutdownAsync);

        // Grpc.Core refuses a second shutdown.
        Assert.That(again, IsDotNet ? Is.Null : Is.TypeOf<InvalidOperationException>());
        ObjectDisposedException? late = Assert.Throws<ObjectDisposedException>(
            () => rig.Client.UnaryAsync(Payloads.Empty));
        if (IsShm)
        {
            Assert.That(late!.Message, Does.StartWith(
                $"The channel to {rig.Channel.Target} was shut down. Create another one with ShmChannel.ForAddress."));
        }
    }

    [Test]
    [Item("B4")]
    public async Task BlockingUnaryCall_ThrowsTheRpcExceptionItself()
    {
        CallRig rig = await StartAsync(
            new Script { Unary = (_, _) => throw new RpcException(new Status(StatusCode.NotFound, "nothing")) });

        Exception? thrown = await Timeouts.OnThread(
            () => Thrown.By(() => Task.FromResult(rig.Client.Unary(Payloads.Empty)))).Bounded();

        Assert.That(thrown, Is.TypeOf<RpcException>());
        Assert.That(((RpcException)thrown!).Status.Plain(), Is.EqualTo(new Status(StatusCode.NotFound, "nothing")));
    }

    [Test]
    [Item("B5")]
    public async Task AsyncUnaryCall_IsAwaitedItself()
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("x"));

        Assert.That((await call).Text(), Is.EqualTo("x"));
        Assert.That(await call.ResponseAsync.Bounded(), Is.SameAs(await call));
    }

    [Test]
    [Item("B6")]
    public async Task AsyncServerStreamingCall_SendsItsRequestAndIsHalfClosedAtOnce()
    {
        var seen = new TaskCompletionSource<(string Request, bool HasMore)>();
        CallRig rig = await StartAsync(new Script
        {
            Duplex = async (requests, _, _) =>
            {
                await requests.MoveNext(CancellationToken.None);
                string request = requests.Current.Text();
                seen.SetResult((request, await requests.MoveNext(CancellationToken.None)));
            },
        });

        // The server method is a duplex one, so that it observes the half-close; the client reads no response yet.
        using AsyncServerStreamingCall<Payload> call = rig.Invoker.AsyncServerStreamingCall(
            Script.Define(MethodType.ServerStreaming, "Duplex"), null, default, Payloads.Of("only"));

        Assert.That(await seen.Task.Bounded(), Is.EqualTo(("only", false)));
    }

    [TestCase(MethodType.ClientStreaming)]
    [TestCase(MethodType.DuplexStreaming)]
    [Item("B7")]
    [Item("B8")]
    public async Task CallWithRequestStream_BeginsBeforeAnythingIsWritten(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);

        using AnyCall call = AnyCall.Start(rig.Invoker, shape);

        await held.Began.Bounded();
        Assert.That(call.Outcome.IsCompleted, Is.False);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [NotOn(RigKind.GrpcDotNet, "GrpcChannel ignores the host of a call.")]
    [Item("B9")]
    [Item("X_Host")]
    public async Task Host_IsSeenByTheMethod(MethodType shape)
    {
        var seen = new TaskCompletionSource<string>();
        CallRig rig = await StartAsync(Everywhere(context =>
        {
            seen.SetResult(context.Host);
            return Task.CompletedTask;
        }));
        CallInvoker invoker = rig.Channel.Intercept(new ClientInterceptor { Host = "other.example" });

        using AnyCall call = AnyCall.Start(invoker, shape);

        Assert.That(await seen.Task.Bounded(), Is.EqualTo("other.example"));
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "GrpcChannel ignores the host of a call.")]
    [Item("B9")]
    [Item("X_Host")]
    public async Task WithHostOfAGeneratedClient_FillsTheHost()
    {
        var service = new HostService();
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(service));

        Payload plain = await rig.Conformance.EchoAsync(Payloads.Empty).ResponseAsync.Bounded();
        Payload other = await rig.Conformance.WithHost("other.example").EchoAsync(Payloads.Empty)
            .ResponseAsync.Bounded();

        Assert.That(plain.Text(), IsDotNet ? Is.EqualTo("localhost") : Does.StartWith("127.0.0.1:"));
        Assert.That(other.Text(), Is.EqualTo("other.example"));
    }

    [Test]
    [Item("I1")]
    public async Task Reader_HasCurrentAndMoveNextWithAToken()
    {
        CallRig rig = await StartAsync(new Script());
        using var cancellation = new CancellationTokenSource();

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("x"));
        IAsyncStreamReader<Payload> reader = call.ResponseStream;

        Assert.That(await reader.MoveNext(cancellation.Token).Bounded());
        Assert.That(reader.Current.Text(), Is.EqualTo("x"));
        Assert.That(await reader.MoveNext().Bounded(), Is.False, "The extension without a token reads on.");
    }

    [Test]
    [Item("I2")]
    public async Task Writer_WritesWithATokenAndKeepsItsOptions()
    {
        CallRig rig = await StartAsync(new Script());
        using var cancellation = new CancellationTokenSource();
        var options = new WriteOptions(WriteFlags.NoCompress);

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        IAsyncStreamWriter<Payload> writer = call.RequestStream;
        writer.WriteOptions = options;
        Exception? thrown = await Thrown.InAllAsync(
            () => writer.WriteAsync(Payloads.Of("cancellable"), cancellation.Token));
        await writer.WriteAsync(Payloads.Of("not cancellable"), CancellationToken.None).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        List<Payload> echoed = await call.ResponseStream.ToListAsync();

        // Grpc.Core does not implement this overload; the interface's default method refuses cancellable tokens.
        Assert.That(thrown, IsDotNet ? Is.Null : Is.TypeOf<NotSupportedException>());
        Assert.That(echoed, Has.Count.EqualTo(IsDotNet ? 2 : 1));
        Assert.That(echoed[^1].Text(), Is.EqualTo("not cancellable"));
        Assert.That(writer.WriteOptions, Is.SameAs(options));
    }

    [Test]
    [Item("I3")]
    public async Task ClientWriter_CompletesTheStream()
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await call.RequestStream.WriteAsync(Payloads.Of("last")).Bounded();
        Assert.That(call.ResponseAsync.IsCompleted, Is.False);
        await call.RequestStream.CompleteAsync().Bounded();

        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("last"));
    }

    /// <summary>Returns the host of the call.</summary>
    private sealed class HostService : ConformanceContract.ConformanceBase
    {
        public override Task<Payload> Echo(Payload request, ServerCallContext context) =>
            Task.FromResult(Payloads.Of(context.Host));
    }
}
