namespace RpcOverShm.FunctionalTests.Inspectors;

/// <summary>Message inspectors that throw: each fails its own call only.</summary>
internal sealed class InspectorRefusalTests : InspectorFixture
{
    private const int MethodThrew = 301;

    [Test]
    public async Task Refusal_OfARequest_IsTheStatusOfTheCall(
        [Values] MethodType shape, [Values] bool isAtServer, [Values] bool isRequest)
    {
        int begun = 0;
        (_, ShmChannel channel) = await StartInspectedAsync(new Script
        {
            Unary = (request, _) =>
            {
                Interlocked.Increment(ref begun);
                return Task.FromResult(request);
            },
        });
        (isAtServer ? AtServer : AtClient).Act = seen =>
        {
            if (seen.IsRequest == isRequest && seen.Text == "bad")
            {
                throw new RpcException(new Status(StatusCode.PermissionDenied, "not this"));
            }
        };

        RpcException failure = await FailureOf(CallAsync(channel, shape, "bad"));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.PermissionDenied, "not this")));
        Assert.That(begun, Is.EqualTo(shape == MethodType.Unary && !isRequest ? 1 : 0));
        await CallAsync(channel, shape, "good").Bounded();
    }

    [Test]
    public async Task Refusal_OfABlockingCall_IsItsStatus([Values] bool isAtServer, [Values] bool isRequest)
    {
        (_, ShmChannel channel) = await StartInspectedAsync(new Script());
        (isAtServer ? AtServer : AtClient).Act = seen =>
        {
            if (seen.IsRequest == isRequest && seen.Text == "bad")
            {
                throw new RpcException(new Status(StatusCode.PermissionDenied, "not this"));
            }
        };

        RpcException failure = await CallFailure.OfBlocking(() => To(channel).Unary(Payloads.Of("bad")));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.PermissionDenied, "not this")));
        Assert.That(await Timeouts.OnThread(() => To(channel).Unary(Payloads.Of("good")).Text()), Is.EqualTo("good"));
    }

    [Test]
    public async Task Inspector_WithADefect_FailsItsCallOnly(
        [Values] MethodType shape, [Values] bool isAtServer, [Values] bool isRequest)
    {
        (ShmRig rig, ShmChannel channel) = await StartInspectedAsync(new Script());
        rig.Log.Expect(MethodThrew);
        (isAtServer ? AtServer : AtClient).Act = seen =>
        {
            if (seen.IsRequest == isRequest && seen.Text == "bad")
            {
                throw new InvalidOperationException("defect");
            }
        };

        RpcException failure = await FailureOf(CallAsync(channel, shape, "bad"));

        Assert.That(failure.StatusCode, Is.EqualTo(isAtServer ? StatusCode.Unknown : StatusCode.Internal));
        Assert.That(failure.Status.Detail, isAtServer ? Does.Not.Contain("defect") : Does.Contain("defect"));
        await CallAsync(channel, shape, "good").Bounded();
    }

    [Test]
    public async Task Refusal_WithTheStatusOk_IsInternal([Values] bool isRequest)
    {
        (_, ShmChannel channel) = await StartInspectedAsync(new Script());
        AtClient.Act = seen =>
        {
            if (seen.IsRequest == isRequest)
            {
                throw new RpcException(Status.DefaultSuccess);
            }
        };

        RpcException failure = await FailureOf(CallAsync(channel, MethodType.Unary, "any"));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
    }

    [Test]
    public async Task Refusal_InTheMiddleOfAStream_EndsItThere()
    {
        (_, ShmChannel channel) = await StartInspectedAsync(new Script());
        AtServer.Act = seen =>
        {
            if (seen is { IsRequest: true, Index: 2 })
            {
                throw new RpcException(new Status(StatusCode.ResourceExhausted, "enough"));
            }
        };

        using AsyncDuplexStreamingCall<Payload, Payload> call = To(channel).Duplex();
        for (int i = 0; i < 2; i++)
        {
            await call.RequestStream.WriteAsync(Payloads.Of($"{i}")).Bounded();
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        }

        await call.RequestStream.WriteAsync(Payloads.Of("2")).Bounded();
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.ResourceExhausted, "enough")));
    }

    [Test]
    public async Task MessageBeyondTheLimit_IsNotShown()
    {
        (_, ShmChannel channel) = await StartInspectedAsync(
            new Script(), options: null, options => options.MaxSendMessageSize = 1000);

        RpcException failure = await FailureOf(To(channel).UnaryAsync(Payloads.OfSize(2000)));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(AtClient.All, Is.Empty);
    }

    // A write of a refused message reports the end of its call, so the outcome is awaited in any case.
    private static async Task CallAsync(ShmChannel channel, MethodType shape, string text)
    {
        (AnyCall call, IClientStreamWriter<Payload>? requests) = AnyCall.Start(
            channel.CreateCallInvoker(), AnyCall.MethodOf(shape), Payloads.Of(text));
        using (call)
        {
            if (requests is not null)
            {
                await Thrown.InAllAsync(() => requests.WriteAsync(Payloads.Of(text)));
                await Thrown.InAllAsync(requests.CompleteAsync);
            }

            await call.Outcome;
        }
    }
}
