using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;

namespace RpcOverShm.FunctionalTests.CodeFirst;

/// <summary>Services of interfaces, through protobuf-net.Grpc, which binds them to the server's collection.</summary>
[Parallelizable]
internal sealed class CodeFirstTests() : RigFixture(RigKind.Shm)
{
    private const int MethodThrew = 301;

    [Test]
    public async Task Operation_OfEveryShape_IsServedBesideGeneratedServices(
        [ValueSource(typeof(NotebookCalls), nameof(NotebookCalls.Operations))] string operation)
    {
        ShmRig rig = await StartAsync(new Notebook());

        string answer = await ClientOf(rig).CallAsync(operation, default).Bounded();

        Assert.That(answer, Is.EqualTo(NotebookCalls.AnswerOf(operation)));
        Assert.That((await rig.Conformance.EchoAsync(Payloads.Of("too"))).Text(), Is.EqualTo("too"));
        Assert.That(await Shapes.RunAllAsync(rig.Client).Bounded(), Is.Empty);
    }

    [Test]
    public async Task Messages_OfAnySize_ArriveInEveryShape(
        [ValueSource(typeof(NotebookCalls), nameof(NotebookCalls.Operations))] string operation)
    {
        string large = new('x', 1 << 20);
        ShmRig rig = await StartAsync(new Notebook());

        string answer = await ClientOf(rig).CallAsync(operation, default, large, large).Bounded();

        Assert.That(answer.Count(c => c is 'x' or 'X'), Is.EqualTo((operation == "Read" ? 4 : 2) * large.Length));
    }

    // Of a blocking call, and of one that answers with a Stream, protobuf-net.Grpc captures no metadata.
    [Test]
    public async Task Metadata_GoesBothWays([Values("WriteLater", "Read", "Join", "Echo")] string operation)
    {
        ShmRig rig = await StartAsync(new Notebook(async context =>
        {
            string value = context.RequestHeaders.GetValue("key")!;
            await context.WriteResponseHeadersAsync(new Metadata { { "header", value } });
            context.ResponseTrailers.Add("trailer-bin", [1, 2]);
        }));
        var context = new CallContext(
            new CallOptions(new Metadata { { "key", "value" } }), CallContextFlags.CaptureMetadata);

        await ClientOf(rig).CallAsync(operation, context).Bounded();

        Assert.That((await context.ResponseHeadersAsync().Bounded()).GetValue("header"), Is.EqualTo("value"));
        Assert.That(context.ResponseTrailers().GetValueBytes("trailer-bin"), Is.EqualTo(new byte[] { 1, 2 }));
        Assert.That(context.ResponseStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task Failure_ArrivesWithStatusAndTrailers(
        [ValueSource(typeof(NotebookCalls), nameof(NotebookCalls.Operations))] string operation)
    {
        ShmRig rig = await StartAsync(new Notebook(_ => throw new RpcException(
            new Status(StatusCode.FailedPrecondition, "full"), new Metadata { { "left", "0" } })));

        RpcException failure = await FailureOf(ClientOf(rig).CallAsync(operation, Failing()));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.FailedPrecondition, "full")));
        Assert.That(failure.Trailers.GetValue("left"), Is.EqualTo("0"));
    }

    [Test]
    public async Task OtherException_IsUnknownAndLogged(
        [ValueSource(typeof(NotebookCalls), nameof(NotebookCalls.Operations))] string operation)
    {
        ShmRig rig = await StartAsync(new Notebook(_ => throw new KeyNotFoundException("which")));
        rig.Log.Expect(MethodThrew);

        RpcException failure = await FailureOf(ClientOf(rig).CallAsync(operation, Failing()));

        Assert.That(
            failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unknown, "Exception was thrown by handler.")));
        Assert.That((await rig.Log.WaitForAsync(MethodThrew)).Exception, Is.InstanceOf<KeyNotFoundException>());
    }

    [Test]
    public async Task Deadline_EndsTheCallAndFiresTheToken(
        [ValueSource(typeof(NotebookCalls), nameof(NotebookCalls.Operations))] string operation)
    {
        var held = new HeldCall();
        ShmRig rig = await StartAsync(new Notebook(held.RunAsync));
        var client = ClientOf(rig);
        await rig.ShmChannel.ConnectAsync().Bounded();
        var options = new CallOptions(deadline: DateTime.UtcNow.AddSeconds(1));

        RpcException failure = await FailureOf(client.CallAsync(operation, Failing(options)));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(
            await held.Deadline.Bounded(), Is.EqualTo(options.Deadline!.Value).Within(TimeSpan.FromMinutes(1)));
    }

    [Test]
    public async Task Cancellation_EndsTheCallAndFiresTheToken(
        [ValueSource(typeof(NotebookCalls), nameof(NotebookCalls.Operations))] string operation)
    {
        var held = new HeldCall();
        ShmRig rig = await StartAsync(new Notebook(held.RunAsync));
        using var cancellation = new CancellationTokenSource();
        var options = new CallOptions(cancellationToken: cancellation.Token);

        Task<string> call = ClientOf(rig).CallAsync(operation, Failing(options));
        await held.Begun.Bounded();
        await cancellation.CancelAsync();

        // A stream of protobuf-net.Grpc reports its own token as such.
        Exception? thrown = await Thrown.ThroughTaskAsync(() => call);
        Assert.That(
            thrown,
            Is.InstanceOf<OperationCanceledException>()
                .Or.Property(nameof(RpcException.StatusCode)).EqualTo(StatusCode.Cancelled));
        await held.Deadline.Bounded();
    }

    [Test]
    public async Task Callback_OfAnInterface_IsMadeThroughTheSession()
    {
        ShmRig rig = await StartAsync(new Notebook(context =>
        {
            IReader back = context.GetShmSession().CreateCallInvoker().CreateGrpcService<IReader>();
            context.ResponseTrailers.Add("asked", back.Ask(new Note { Text = "back" }).Text);
            return Task.CompletedTask;
        }));
        ShmChannel channel = rig.OpenChannel(
            options => options.Callbacks.Services.AddCodeFirst<IReader>(new Notebook()));
        var context = new CallContext(default, CallContextFlags.CaptureMetadata);

        string answer = await channel.CreateGrpcService<INotebook>().CallAsync("WriteLater", context).Bounded();

        Assert.That(answer, Is.EqualTo("AB"));
        Assert.That(context.ResponseTrailers().GetValue("asked"), Is.EqualTo("BACK"));
    }

    [Test]
    public async Task Operations_WithSeveralParametersOrAStreamOfBytes_AreNotBound_AndTheCountSaysSo()
    {
        int bound = 0;
        ShmRig rig = await StartShmAsync(
            new Script(),
            new RigOptions { Services = services => bound = services.AddCodeFirst<ISeveral>(new SeveralOperations()) });
        ISeveral several = rig.Channel.CreateGrpcService<ISeveral>();

        Assert.That(bound, Is.EqualTo(1));
        Assert.That((await several.OneAsync(new Note { Text = "one" }).Bounded()).Text, Is.EqualTo("one"));
        Assert.That(() => several.TwoAsync(new Note(), new Note()), Throws.InstanceOf<NotSupportedException>());
        Assert.That(() => several.UploadAsync(Stream.Null), Throws.InstanceOf<NotSupportedException>());
    }

    private Task<ShmRig> StartAsync(Notebook notebook) => StartShmAsync(
        new Script(),
        RigOptions.AnySize with
        {
            Services = services =>
            {
                Assert.That(services.AddCodeFirst<INotebook>(notebook), Is.EqualTo(6));
                ConformanceContract.BindService(services, new ConformanceService());
            },
        });

    // A call may end while its requests are still sent, for which the binder has an exception of its own.
    private static CallContext Failing(CallOptions options = default) =>
        new(options, CallContextFlags.IgnoreStreamTermination);

    private static INotebook ClientOf(ShmRig rig) => rig.Channel.CreateGrpcService<INotebook>();

    private sealed class SeveralOperations : ISeveral
    {
        public Task<Note> OneAsync(Note note) => Task.FromResult(note);

        public Task<Note> TwoAsync(Note first, Note second) => Task.FromResult(second);

        public Task<Note> UploadAsync(Stream bytes) => Task.FromResult(new Note());
    }

    /// <summary>An operation that runs until its token is cancelled.</summary>
    private sealed class HeldCall
    {
        private readonly TaskCompletionSource _begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly TaskCompletionSource<DateTime> _ended =
            new(TaskCreationOptions.RunContinuationsAsynchronously);


        public Task Begun => _begun.Task;

        /// <summary>The deadline that the operation saw; completes when its token was cancelled.</summary>
        public Task<DateTime> Deadline => _ended.Task;

        public async Task RunAsync(ServerCallContext context)
        {
            _begun.TrySetResult();
            try
            {
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            }
            finally
            {
                _ended.TrySetResult(context.Deadline);
            }
        }
    }
}
