namespace RpcOverShm.FunctionalTests.CallShapes;

[EveryRig]
internal sealed class ServerStreamingTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task Responses_Many_ComeInOrderAndEnd()
    {
        CallRig rig = await StartAsync(null, ConformanceContract.BindService(new ConformanceService()));

        using AsyncServerStreamingCall<Number> call = rig.Conformance.Count(new CountRequest { Count = 5000 });
        List<Number> numbers = await call.ResponseStream.ToListAsync();

        Assert.That(numbers.Select(number => number.Value), Is.EqualTo(Enumerable.Range(0, 5000)));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task Responses_EmptyOnes_AreCounted()
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (_, responses, _) =>
            {
                for (int i = 0; i < 100; i++)
                {
                    await responses.WriteAsync(Payloads.Empty);
                }
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);

        Assert.That(await call.ResponseStream.ToListAsync(), Has.Count.EqualTo(100));
    }

    [Test]
    public async Task Response_IsReadable_WhileTheHandlerStillRuns()
    {
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                await mayEnd.Task;
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("now"));
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo("now"));
        Task<bool> next = call.ResponseStream.MoveNext(CancellationToken.None);

        Assert.That(next.IsCompleted, Is.False);
        mayEnd.SetResult();
        Assert.That(await next.Bounded(), Is.False);
    }

    [Test]
    public async Task Failure_AfterSomeMessages_ComesWhenTheyAreRead()
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                await responses.WriteAsync(request);
                throw new RpcException(
                    new Status(StatusCode.DataLoss, "half"), new Metadata { { "trailer", "value" } });
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        RpcException failure = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.DataLoss, "half")));
        Assert.That(failure.Trailers.GetValue("trailer"), Is.EqualTo("value"));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.DataLoss));
        Assert.That(call.GetTrailers().GetValue("trailer"), Is.EqualTo("value"));
    }

    [Test]
    public async Task Messages_OfManySizes_AreByteForByteTheSame()
    {
        int[] sizes = MixedSizes;
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (_, responses, _) =>
            {
                for (int i = 0; i < sizes.Length; i++)
                {
                    await responses.WriteAsync(Payloads.OfSize(sizes[i], (ulong)i));
                }
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        List<Payload> messages = await call.ResponseStream.ToListAsync();

        Assert.That(messages, Has.Count.EqualTo(sizes.Length));
        Assert.That(messages.Select((message, i) => message.IsOfSize(sizes[i], (ulong)i)), Is.All.True);
    }

    [Test]
    public async Task WriteThatNobodyAwaits_IsDeliveredBeforeTheEnd()
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = (request, responses, context) =>
            {
                _ = responses.WriteAsync(request);
                return Task.CompletedTask;
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("late"));
        List<Payload> messages = await call.ResponseStream.ToListAsync();

        Assert.That(messages.Single().Text(), Is.EqualTo("late"));
    }
}
