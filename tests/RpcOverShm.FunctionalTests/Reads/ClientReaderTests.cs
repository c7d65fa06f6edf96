namespace RpcOverShm.FunctionalTests.Reads;

[EveryRig]
internal sealed class ClientReaderTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    [Item("C10")]
    public async Task MoveNext_AfterANormalEnd_KeepsReturningFalse()
    {
        CallRig rig = await StartAsync(new Script());

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("one"));
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());

        for (int i = 0; i < 3; i++)
        {
            Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
        }
    }

    [Test]
    [Item("C10")]
    public async Task MoveNext_AfterAnError_KeepsThrowingTheSameStatus([Values] bool isOfTheClient)
    {
        using var cancellation = new CancellationTokenSource();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                if (isOfTheClient)
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }

                throw new RpcException(new Status(StatusCode.DataLoss, "half"), new Metadata { { "key", "value" } });
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(
            Payloads.Of("one"), new CallOptions(cancellationToken: cancellation.Token));
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        if (isOfTheClient)
        {
            await cancellation.CancelAsync();
        }

        var failures = new List<RpcException>();
        for (int i = 0; i < 3; i++)
        {
            failures.Add(await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None)));
        }

        Assert.That(
            failures.Select(failure => failure.StatusCode),
            Is.All.EqualTo(isOfTheClient ? StatusCode.Cancelled : StatusCode.DataLoss));
        Assert.That(failures.Select(failure => failure.Status), Is.All.EqualTo(call.GetStatus()));
        Assert.That(
            failures.Select(failure => failure.Trailers.GetValue("key")),
            Is.All.EqualTo(isOfTheClient ? null : "value"));
    }

    [Test]
    [Item("C10")]
    public async Task Current_WithoutAMessage_IsNull([Values] bool isFailing)
    {
        var mayEnd = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                await responses.WriteAsync(request);
                await mayEnd.Task;
                if (isFailing)
                {
                    throw new RpcException(new Status(StatusCode.DataLoss, "half"));
                }
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("one"));

        // Grpc.Core throws before the first message and keeps the last one after the end.
        Assert.That(
            () => call.ResponseStream.Current, IsDotNet ? Is.Null : Throws.InvalidOperationException);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo("one"));
        Task<bool> next = call.ResponseStream.MoveNext(CancellationToken.None);
        Assert.That(call.ResponseStream.Current?.Text(), Is.EqualTo(IsDotNet ? null : "one"), "During the next read.");
        mayEnd.SetResult();
        await Thrown.InAllAsync(() => next);
        Assert.That(() => call.ResponseStream.Current, IsDotNet ? Is.Null : Throws.InvalidOperationException);
    }

    [Test]
    [Item("C10")]
    public async Task MoveNext_WhileAnotherIsUnderWay_ThrowsAndTheFirstGoesOn()
    {
        var mayWrite = new TaskCompletionSource();
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, _) =>
            {
                await mayWrite.Task;
                await responses.WriteAsync(request);
            },
        });

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Of("one"));
        Task<bool> first = call.ResponseStream.MoveNext(CancellationToken.None);
        Exception? second = await Thrown.InAllAsync(() => call.ResponseStream.MoveNext(CancellationToken.None));
        mayWrite.SetResult();

        Assert.That(second, Is.InstanceOf<InvalidOperationException>());
        if (IsDotNet)
        {
            Assert.That(
                second!.Message,
                Is.EqualTo("Can't read the next message because the previous read is still in progress."));
        }

        Assert.That(await first.Bounded());
        Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo("one"));
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);
    }
}
