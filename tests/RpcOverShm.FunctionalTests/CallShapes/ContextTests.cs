namespace RpcOverShm.FunctionalTests.CallShapes;

/// <summary>Every member of ServerCallContext.</summary>
[EveryRig]
[Parallelizable]
internal sealed class ContextTests(RigKind kind) : ItemFixture(kind)
{
    [TestCase(MethodType.Unary, "Unary")]
    [TestCase(MethodType.ClientStreaming, "ClientStream")]
    [TestCase(MethodType.ServerStreaming, "ServerStream")]
    [TestCase(MethodType.DuplexStreaming, "Duplex")]
    [Item("X_Method")]
    public async Task Method_IsTheFullName(MethodType shape, string name)
    {
        string? seen = null;
        CallRig rig = await UseAsync(Everywhere(context =>
        {
            seen = context.Method;
            return Task.CompletedTask;
        }));

        await AnyCall.Start(rig.Invoker, shape).Outcome.Bounded();

        Assert.That(seen, Is.EqualTo($"/rpcovershm.testing.Script/{name}"));
    }

    [Test]
    [Item("X_Peer")]
    public async Task Peer_NamesTheClient()
    {
        string peer = await SeenAsync(context => context.Peer);

        // grpc-dotnet knows IP addresses only.
        Assert.That(
            peer,
            IsShm ? Is.EqualTo($"shm:pid={Environment.ProcessId};session=1")
            : IsDotNet ? Does.StartWith("unknown") : Does.StartWith("ipv4:127.0.0.1:"));
    }

    [Test]
    [Item("X_Peer")]
    public async Task Peer_OfTwoChannelsOfOneProcess_HasTwoNumbers()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (_, context) => Task.FromResult(Payloads.Of(context.Peer)),
        });
        await using ShmChannel other = rig.OpenChannel();

        string[] peers =
        [
            rig.Client.Unary(Payloads.Empty).Text(),
            new ScriptClient(other.CreateCallInvoker()).Unary(Payloads.Empty).Text(),
            rig.Client.Unary(Payloads.Empty).Text(),
        ];

        string process = $"shm:pid={Environment.ProcessId};session=";
        Assert.That(peers, Is.EqualTo(new[] { process + 1, process + 2, process + 1 }));
    }

    [Test]
    [Item("X_Deadline")]
    public async Task Deadline_WithoutOne_IsTheLargestTime()
    {
        DateTime deadline = await SeenAsync(context => context.Deadline);

        Assert.That(deadline, Is.EqualTo(DateTime.MaxValue));
    }

    [TestCase("cancel")]
    [TestCase("dispose")]
    [TestCase("deadline")]
    [Item("X_CancellationToken")]
    public async Task CancellationToken_FiresWhenTheCallIsOver(string end)
    {
        var held = new HeldMethods();
        CallRig rig = await UseAsync(held.Script);
        using var cancellation = new CancellationTokenSource();
        await ConnectAsync(rig);

        DateTime? deadline = end == "deadline" ? DateTime.UtcNow.AddSeconds(2) : null;
        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(
            Payloads.Empty, new CallOptions(deadline: deadline, cancellationToken: cancellation.Token));
        await held.Began.Bounded();
        if (end != "deadline")
        {
            Assert.That(held.Cancelled.IsCompleted, Is.False);
        }

        if (end == "cancel")
        {
            await cancellation.CancelAsync();
        }
        else if (end == "dispose")
        {
            call.Dispose();
        }

        await FailureOf(call);
        await held.Cancelled.Bounded();
    }

    [Test]
    [Item("X_ResponseTrailers")]
    public async Task ResponseTrailers_AreOneCollectionThatMayBeChanged()
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                context.ResponseTrailers.Add("dropped", "1");
                context.ResponseTrailers.Add("kept", "2");
                context.ResponseTrailers.RemoveAt(0);
                return Task.FromResult(request);
            },
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await call.ResponseAsync.Bounded();

        Assert.That(call.GetTrailers().Select(entry => entry.Key), Is.EqualTo(new[] { "kept" }));
    }

    [Test]
    [Item("X_Status")]
    public async Task Status_IsOkAndKeepsWhatIsSet()
    {
        (Status first, Status second) = await SeenAsync(context =>
        {
            Status before = context.Status;
            context.Status = new Status(StatusCode.OK, "fine");
            return (before, context.Status);
        });

        // grpc-dotnet returns default(Status), whose detail is null despite its non-nullable type.
        Assert.That(first.Plain(), Is.EqualTo(IsGrpcDotNet ? default : new Status(StatusCode.OK, "")));
        Assert.That(second.Plain(), Is.EqualTo(new Status(StatusCode.OK, "fine")));
    }

    [Test]
    [Item("X_Status")]
    public async Task Status_OkWithADetail_ReachesTheClientAsSuccess()
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                context.Status = new Status(StatusCode.OK, "fine");
                return Task.FromResult(request);
            },
        });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("x"));

        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("x"));
        Assert.That(call.GetStatus().Plain(), Is.EqualTo(new Status(StatusCode.OK, "fine")));
    }

    [Test]
    [Item("X_WriteOptions")]
    public async Task WriteOptions_AreThoseOfTheWriter()
    {
        var seen = new TaskCompletionSource<(bool IsNull, WriteOptions? Writer, WriteOptions? Context)>();
        var hint = new WriteOptions(WriteFlags.BufferHint);
        var noCompress = new WriteOptions(WriteFlags.NoCompress);
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = (_, responses, context) =>
            {
                bool isNull = context.WriteOptions is null && responses.WriteOptions is null;
                context.WriteOptions = hint;
                WriteOptions? ofWriter = responses.WriteOptions;
                responses.WriteOptions = noCompress;
                seen.SetResult((isNull, ofWriter, context.WriteOptions));
                return Task.CompletedTask;
            },
        });

        await rig.Client.ServerStream(Payloads.Empty).ResponseStream.ToListAsync();
        (bool isNull, WriteOptions? writer, WriteOptions? context) = await seen.Task.Bounded();

        Assert.That(isNull, "None are set at first.");
        Assert.That(writer, Is.SameAs(hint));
        Assert.That(context, Is.SameAs(noCompress));
    }

    [Test]
    [Item("X_AuthContext")]
    public async Task AuthContext_IsReadable()
    {
        AuthContext context = await SeenAsync(context => context.AuthContext);

        // Grpc.Core does not authenticate the peer of an insecure socket.
        Assert.That(context.IsPeerAuthenticated, Is.EqualTo(IsShm));
        Assert.That(
            context.FindPropertiesByName("pid").Select(property => property.Value),
            Is.EqualTo(IsShm ? new[] { $"{Environment.ProcessId}" } : []));
    }

    [Test]
    [Item("X_CreatePropagationToken")]
    [Item("O5")]
    public async Task CreatePropagationToken_IsNotSupported()
    {
        Exception? thrown = await SeenAsync(
            context => Thrown.By(() => Task.FromResult(context.CreatePropagationToken())),
            new CallOptions(propagationToken: null));

        // Only Grpc.Core can create one.
        Assert.That(thrown, IsDotNet ? Is.TypeOf<NotImplementedException>() : Is.Null);
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("X_WriteResponseHeaders")]
    public async Task WriteResponseHeaders_SendsThem(MethodType shape)
    {
        CallRig rig = await UseAsync(Everywhere(
            context => context.WriteResponseHeadersAsync(new Metadata { { "key", "value" } })));

        using AnyCall call = AnyCall.Start(rig.Invoker, shape);

        Assert.That((await call.Headers.Bounded()).GetValue("key"), Is.EqualTo("value"));
        await call.Outcome.Bounded();
    }

    [Test]
    [Item("X_UserState")]
    public async Task UserState_IsOfOneCall()
    {
        int Count(ServerCallContext context)
        {
            context.UserState[context.UserState.Count] = "kept";
            return context.UserState.Count;
        }

        var counts = new List<int>();
        CallRig rig = await UseAsync(Everywhere(context =>
        {
            counts.Add(Count(context));
            counts.Add(Count(context));
            return Task.CompletedTask;
        }));

        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(counts, Is.EqualTo(new[] { 1, 2, 1, 2 }));
    }

    private async Task<T> SeenAsync<T>(Func<ServerCallContext, T> look, CallOptions options = default)
    {
        var seen = new TaskCompletionSource<T>();
        CallRig rig = await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                seen.SetResult(look(context));
                return Task.FromResult(request);
            },
        });
        await rig.Client.UnaryAsync(Payloads.Empty, options).ResponseAsync.Bounded();
        return await seen.Task.Bounded();
    }
}
