namespace RpcOverShm.FunctionalTests.Credentials;

/// <summary>Call credentials: their metadata, its order and their failures (grpc-behaviour.md 1.3).</summary>
[EveryRig]
internal sealed class CallCredentialsTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    [Item("O6")]
    public async Task Credentials_OfTheCall_AddTheirMetadata_InEveryShape()
    {
        CallRig rig = await StartNotingAsync();
        var options = new CallOptions(credentials: Adding("authorization", "one"));

        await Timeouts.OnThread(() => rig.Client.Unary(Payloads.Empty, options)).Bounded();
        foreach (MethodType shape in AnyCall.Shapes)
        {
            await AnyCall.CallAsync(rig.Invoker, AnyCall.MethodOf(shape), Payloads.Empty, options).Bounded();
        }

        Assert.That(_seen, Is.EqualTo(Enumerable.Repeat("one", 5)));
    }

    [Test]
    public async Task Credentials_OfCallAndChannel_AreAskedInThisOrder_AfterTheHeaders()
    {
        var asked = new List<string>();
        CallRig rig = await StartNotingAsync(Adding("authorization", "channel", asked));
        var options = new CallOptions(
            new Metadata { { "authorization", "header" } },
            credentials: CallCredentials.Compose(
                Adding("authorization", "first", asked), Adding("authorization", "second", asked)));

        await rig.Client.UnaryAsync(Payloads.Empty, options).ResponseAsync.Bounded();
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        // Grpc.Core asks the channel's credentials first; the order here is grpc-dotnet's.
        string[] all = IsDotNet ? ["first", "second", "channel"] : ["channel", "first", "second"];
        Assert.That(asked, Is.EqualTo(all.Append("channel")));
        Assert.That(_seen, Is.EqualTo(new[] { string.Join(',', all.Prepend("header")), "channel" }));
    }

    [Test]
    public async Task Credentials_Asked_AreToldOfServiceAndMethod()
    {
        AuthInterceptorContext? context = null;
        CallRig rig = await StartNotingAsync();
        var credentials = CallCredentials.FromInterceptor((asked, _) =>
        {
            context = asked;
            return Task.CompletedTask;
        });

        await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(credentials: credentials)).ResponseAsync.Bounded();

        // The scheme is the transport's: a shared memory name is not an https host.
        string server = rig is ShmRig shm ? shm.Address : "https://localhost";
        Assert.That(context!.ServiceUrl, Is.EqualTo($"{server}/{Script.ServiceName}"));
        Assert.That(context.MethodName, Is.EqualTo("Unary"));
    }

    [Test]
    public async Task Credentials_ThatTakeTheirTime_AreWaitedFor()
    {
        CallRig rig = await StartNotingAsync();
        var mayGoOn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var credentials = CallCredentials.FromInterceptor(async (_, metadata) =>
        {
            await mayGoOn.Task;
            metadata.Add("authorization", "late");
        });

        Task<Payload> call = rig.Client.UnaryAsync(
            Payloads.Of("request"), new CallOptions(credentials: credentials)).ResponseAsync;
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        bool wasEarly = call.IsCompleted;
        mayGoOn.SetResult();

        Assert.That((await call.Bounded()).Text(), Is.EqualTo("request"));
        Assert.That(wasEarly, Is.False);
        Assert.That(_seen, Is.EqualTo(new[] { "", "late" }));
    }

    [Test]
    public async Task Credentials_ThatThrow_FailTheCall_AndNothingElse([Values] bool isBlocking)
    {
        CallRig rig = await StartNotingAsync();
        var problem = new InvalidOperationException("no token");
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor((_, _) => throw problem));
        ScriptClient client = rig.Client;

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty, options))
            : await FailureOf(client.UnaryAsync(Payloads.Empty, options));
        await client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        if (IsDotNet)
        {
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
            Assert.That(
                failure.Status.Detail, Is.EqualTo("Error starting gRPC call. InvalidOperationException: no token"));
            Assert.That(failure.Status.DebugException, Is.SameAs(problem));
        }
        else
        {
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
            Assert.That(failure.Status.Detail, Does.StartWith("Getting metadata from plugin failed with error: "));
        }

        Assert.That(_seen, Is.EqualTo(new[] { "" }));
    }

    [Test]
    public async Task Credentials_ThatFail_FailStreamsWithTheirWritesAndReads()
    {
        CallRig rig = await StartNotingAsync();
        var options = new CallOptions(credentials: CallCredentials.FromInterceptor(
            (_, _) => Task.FromException(new InvalidOperationException("no token"))));

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex(options);
        RpcException read = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));
        RpcException write = await FailureOf(call.RequestStream.WriteAsync(Payloads.Empty));

        StatusCode code = IsDotNet ? StatusCode.Internal : StatusCode.Unavailable;
        Assert.That(read.StatusCode, Is.EqualTo(code));
        Assert.That(write.StatusCode, Is.EqualTo(code));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(code));
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "It waits for credentials beyond the deadline.")]
    public async Task Deadline_WhileCredentialsAreAsked_EndsTheCall([Values] bool isBlocking)
    {
        CallRig rig = await StartNotingAsync();
        var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var options = new CallOptions(
            deadline: DateTime.UtcNow.AddMilliseconds(200),
            credentials: CallCredentials.FromInterceptor((_, _) => ended.Task));
        ScriptClient client = rig.Client;

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty, options))
            : await FailureOf(client.UnaryAsync(Payloads.Empty, options));
        ended.SetResult();
        await client.UnaryAsync(Payloads.Empty, new CallOptions(credentials: Adding("authorization", "behind it")))
            .ResponseAsync.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(_seen, Is.EqualTo(new[] { "behind it" }));
    }

    [Test]
    public async Task Credentials_OfTheChannel_AreAskedForEveryCall()
    {
        int asked = 0;
        CallRig rig = await StartNotingAsync(CallCredentials.FromInterceptor((_, metadata) =>
        {
            metadata.Add("authorization", $"{Interlocked.Increment(ref asked)}");
            return Task.CompletedTask;
        }));

        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(_seen, Is.EqualTo(new[] { "1", "2" }));
    }

    private readonly List<string> _seen = [];

    private async Task<CallRig> StartNotingAsync(CallCredentials? ofChannel = null)
    {
        _seen.Clear();
        return await StartAsync(
            new Script
            {
                Unary = (request, context) => Note(request, context),
                ServerStream = (request, _, context) => Note(request, context),
                ClientStream = async (requests, context) =>
                {
                    await requests.ToListAsync();
                    return await Note(Payloads.Empty, context);
                },
                Duplex = async (requests, _, context) =>
                {
                    await requests.ToListAsync();
                    await Note(Payloads.Empty, context);
                },
            },
            new RigOptions { IsSecure = true, ChannelCallCredentials = ofChannel });
    }

    private Task<Payload> Note(Payload request, ServerCallContext context)
    {
        lock (_seen)
        {
            // HTTP may join values of one key with a comma and a space.
            _seen.Add(string.Join(',', context.RequestHeaders.GetAll("authorization").Select(entry => entry.Value))
                .Replace(", ", ",", StringComparison.Ordinal));
        }

        return Task.FromResult(request);
    }

    private static CallCredentials Adding(string key, string value, List<string>? asked = null) =>
        CallCredentials.FromInterceptor((_, metadata) =>
        {
            asked?.Add(value);
            metadata.Add(key, value);
            return Task.CompletedTask;
        });
}
