using Grpc.Core.Interceptors;
using RpcOverShm.FunctionalTests.Interceptors;
using RpcOverShm.Servers;

namespace RpcOverShm.FunctionalTests.CallShapes;

[EveryRig]
internal sealed class CallOptionTests(RigKind kind) : RigFixture(kind)
{
    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("O1")]
    [Item("X_RequestHeaders")]
    public async Task Headers_AreTheRequestsMetadataInEveryShape(MethodType shape)
    {
        var seen = new TaskCompletionSource<string?>();
        CallRig rig = await StartAsync(Noting(context => seen.SetResult(context.RequestHeaders.GetValue("key"))));

        using AnyCall call = AnyCall.Start(
            rig.Invoker, shape, new CallOptions(new Metadata { { "key", "value" } }));

        Assert.That(await seen.Task.Bounded(), Is.EqualTo("value"));
    }

    [Test]
    [Item("O1")]
    public async Task Headers_OfTheCaller_AreNeitherChangedNorFrozen()
    {
        CallRig rig = await StartAsync(new Script());
        var headers = new Metadata { { "key", "value" } };

        await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers)).ResponseAsync.Bounded();
        headers.Add("another", "value");
        await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers)).ResponseAsync.Bounded();

        Assert.That(headers.Select(entry => entry.Key), Is.EqualTo(new[] { "key", "another" }));
    }

    [Test]
    [Item("O1")]
    public async Task Headers_ThatAreNullOrTheFrozenEmptyOnes_AreNone()
    {
        CallRig rig = await StartAsync(new Script
        {
            Unary = (_, context) => Task.FromResult(Payloads.OfSize(context.RequestHeaders.Count)),
        });

        Payload none = await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers: null))
            .ResponseAsync.Bounded();
        Payload empty = await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(Metadata.Empty))
            .ResponseAsync.Bounded();

        // The other rigs add their user-agent to both.
        Assert.That(none.Data.Length, Is.EqualTo(IsShm ? 0 : 1));
        Assert.That(empty.Data.Length, Is.EqualTo(none.Data.Length));
        Assert.That(() => Metadata.Empty.Add("key", "value"), Throws.Exception, "They are frozen still.");
    }

    [Test]
    [Item("O2")]
    public async Task Deadline_OfAnotherKindThanUtc_ThrowsFromTheInvokingMethod(
        [Values(DateTimeKind.Local, DateTimeKind.Unspecified)] DateTimeKind kind)
    {
        CallRig rig = await StartAsync(new Script());
        var options = new CallOptions(deadline: DateTime.SpecifyKind(DateTime.UtcNow.AddMinutes(1), kind));

        // The type is grpc-dotnet's; Grpc.Core throws an ArgumentException.
        Type expected = IsDotNet ? typeof(InvalidOperationException) : typeof(ArgumentException);
        Assert.That(() => rig.Client.UnaryAsync(Payloads.Empty, options), Throws.TypeOf(expected));
        Assert.That(() => rig.Client.Unary(Payloads.Empty, options), Throws.TypeOf(expected));
        Assert.That(() => rig.Client.ServerStream(Payloads.Empty, options), Throws.TypeOf(expected));
        Assert.That(() => rig.Client.ClientStream(options), Throws.TypeOf(expected));
        Assert.That(() => rig.Client.Duplex(options), Throws.TypeOf(expected));
        Assert.That(rig.Client.Unary(Payloads.Of("alive")).Text(), Is.EqualTo("alive"));
    }

    [TestCase(DateTimeKind.Utc)]
    [TestCase(DateTimeKind.Local)]
    [TestCase(DateTimeKind.Unspecified)]
    [Item("O2")]
    public async Task Deadline_MinValueOfAnyKind_HasPassed(DateTimeKind kind)
    {
        CallRig rig = await StartAsync(new Script());
        var options = new CallOptions(deadline: DateTime.SpecifyKind(DateTime.MinValue, kind));

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty, options));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("O3")]
    public async Task CancellationToken_CancelledBefore_EndsTheCallWithoutAMethod(MethodType shape)
    {
        var held = new HeldMethods();
        held.Release();
        CallRig rig = await StartAsync(held.Script);
        var options = new CallOptions(cancellationToken: new CancellationToken(canceled: true));

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, shape, options).Outcome);
        RpcException blocking = await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty, options));
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(blocking.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(held.Begun, Is.EqualTo(1), "No method ran but the last call's.");
    }

    [Test]
    [Item("O3")]
    public async Task CancellationToken_CancelledAfterTheEnd_MeansNothing()
    {
        CallRig rig = await StartAsync(new Script());
        using var cancellation = new CancellationTokenSource();

        using AnyCall call = AnyCall.Start(
            rig.Invoker, MethodType.Unary, new CallOptions(cancellationToken: cancellation.Token));
        await call.Outcome.Bounded();
        await cancellation.CancelAsync();

        Assert.That(call.Status, Is.EqualTo(Status.DefaultSuccess));
    }

    [Test]
    [Item("O4")]
    public async Task WriteOptions_AreTheWritersAtFirst()
    {
        CallRig rig = await StartAsync(new Script());
        var given = new WriteOptions(WriteFlags.NoCompress);
        var others = new WriteOptions(WriteFlags.BufferHint);

        using AsyncDuplexStreamingCall<Payload, Payload> duplex = rig.Client.Duplex(
            new CallOptions(writeOptions: given));
        using AsyncClientStreamingCall<Payload, Payload> clientStream = rig.Client.ClientStream(
            new CallOptions(writeOptions: given));
        using AsyncDuplexStreamingCall<Payload, Payload> plain = rig.Client.Duplex();

        Assert.That(duplex.RequestStream.WriteOptions, Is.SameAs(given));
        Assert.That(clientStream.RequestStream.WriteOptions, Is.SameAs(given));
        Assert.That(plain.RequestStream.WriteOptions, Is.Null);
        duplex.RequestStream.WriteOptions = others;
        Assert.That(duplex.RequestStream.WriteOptions, Is.SameAs(others));
    }

    [Test]
    [Item("O4")]
    public async Task WriteOptions_NoCompress_IsHonouredByDoingNothing()
    {
        var areCompressed = new List<bool>();
        CallRig rig = await StartAsync(new Script
        {
            Unary = (request, context) =>
            {
                // Only this context reports compression; the interop cases measure it for the other rigs.
                areCompressed.Add(context is ShmServerCallContext { IsLastRequestCompressed: true });
                return Task.FromResult(request);
            },
        });
        var headers = new Metadata();
        if (IsDotNet)
        {
            headers.Add("grpc-internal-encoding-request", "gzip");
        }

        var compressed = new CallOptions(headers);
        CallOptions plain = compressed.WithWriteOptions(new WriteOptions(WriteFlags.NoCompress));

        // Messages that would not shrink are sent uncompressed, so this one is long and repetitive.
        Payload request = Payloads.Of(new string('a', 5000));
        await rig.Client.UnaryAsync(request, compressed).ResponseAsync.Bounded();
        Payload response = await rig.Client.UnaryAsync(request, plain).ResponseAsync.Bounded();

        Assert.That(response, Is.EqualTo(request));
        Assert.That(areCompressed, Is.EqualTo(new[] { IsShm, false }));
    }

    [Test]
    [Item("O4")]
    public async Task WriteOptions_BufferHint_KeepsNoMessageBack()
    {
        CallRig rig = await StartAsync(new Script());
        var hint = new WriteOptions(WriteFlags.BufferHint);

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex(new CallOptions(writeOptions: hint));
        Task write = call.RequestStream.WriteAsync(Payloads.Of("one"));
        if (!IsDotNet)
        {
            // The C core buffers a hinted message until another write follows; grpc-dotnet's client does not.
            await write.Bounded();
            call.RequestStream.WriteOptions = null;
            write = call.RequestStream.WriteAsync(Payloads.Of("two"));
        }

        await write.Bounded();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo("one"));
    }

    [Test]
    [Item("O5")]
    public async Task PropagationToken_OfGrpcCore_IsIgnored()
    {
        var seen = new TaskCompletionSource<ContextPropagationToken>();
        CallRig foreign = await CallRig.StartAsync(
            RigKind.GrpcCore, null, Noting(context => seen.SetResult(context.CreatePropagationToken())).Build());
        await using CallRig atTheEnd = foreign;
        CallRig rig = await StartAsync(new Script());
        await foreign.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        ContextPropagationToken token = await seen.Task.Bounded();

        Task CallAsync() => rig.Client.UnaryAsync(
            Payloads.Empty, new CallOptions(propagationToken: token)).ResponseAsync;

        if (IsDotNet)
        {
            await CallAsync().Bounded();
        }
        else
        {
            // Grpc.Core looks up the parent call, which has ended or is about to.
            Exception? thrown = null;
            await Timeouts.Eventually(() => (thrown = Thrown.By(CallAsync)) is not null);
            Assert.That(thrown, Is.TypeOf<ObjectDisposedException>());
        }
    }

    [Test]
    [Item("O7")]
    public async Task WaitForReady_WithAServerThatIsThere_IsACallAsAnyOther()
    {
        CallRig rig = await StartAsync(new Script());
        CallOptions options = default(CallOptions).WithWaitForReady();

        Payload response = await rig.Client.UnaryAsync(Payloads.Of("x"), options).ResponseAsync.Bounded();

        Assert.That(options.IsWaitForReady);
        Assert.That(options.WithWaitForReady(false).IsWaitForReady, Is.False);
        Assert.That(response.Text(), Is.EqualTo("x"));
    }

    [Test]
    [Item("O8")]
    public async Task OptionsThatAnInterceptorChanges_AreThoseOfTheCallAndNotOfTheCaller()
    {
        var seen = new TaskCompletionSource<(string? Header, DateTime Deadline)>();
        CallRig rig = await StartAsync(
            Noting(context => seen.SetResult((context.RequestHeaders.GetValue("key"), context.Deadline))));
        var change = new ClientInterceptor
        {
            Change = options => options
                .WithHeaders(new Metadata { { "key", "changed" } })
                .WithDeadline(DateTime.UtcNow.AddHours(1))
                .WithWaitForReady()
                .WithWriteOptions(new WriteOptions(WriteFlags.NoCompress)),
        };
        var options = new CallOptions(new Metadata { { "key", "original" } });

        await new ScriptClient(rig.Channel.Intercept(change)).UnaryAsync(Payloads.Empty, options)
            .ResponseAsync.Bounded();

        (string? header, DateTime deadline) = await seen.Task.Bounded();
        Assert.That(header, Is.EqualTo("changed"));
        Assert.That(deadline, Is.LessThan(DateTime.MaxValue));
        Assert.That(options.Headers!.GetValue("key"), Is.EqualTo("original"));
        Assert.That(options.Deadline, Is.Null);
    }

    /// <summary>Returns a script whose methods pass their context to a delegate and return.</summary>
    private static Script Noting(Action<ServerCallContext> note) => Everywhere(context =>
    {
        note(context);
        return Task.CompletedTask;
    });
}
