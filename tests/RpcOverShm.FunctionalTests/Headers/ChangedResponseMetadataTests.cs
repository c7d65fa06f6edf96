namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>
/// Response metadata that a leftover task changes while it is sent: the call may lose its trailers or its status, but
/// it ends, and the connection survives.
/// </summary>
internal sealed class ChangedResponseMetadataTests() : ItemFixture(RigKind.Shm)
{
    [Test]
    public async Task Trailers_ChangedWhileTheMethodEnds_AreLeftOutAtMost(
        [ValueSource(typeof(AnyCall), nameof(AnyCall.Shapes))] MethodType shape)
    {
        var stop = new CancellationTokenSource();
        CallRig rig = await UseAsync(Everywhere(context =>
        {
            context.ResponseTrailers.Disturb(stop.Token);
            throw new RpcException(new Status(StatusCode.Aborted, "by the method"));
        }));

        int trailers;
        do
        {
            RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, shape).Outcome);
            await stop.CancelAsync();
            stop = new CancellationTokenSource();
            trailers = failure.Trailers.Count;
            Assert.That(failure.Status, Is.EqualTo(new Status(StatusCode.Aborted, "by the method")));
            Assert.That(trailers, Is.Zero.Or.EqualTo(DisturbedMetadata.Entries));
        }
        while (trailers > 0);
    }

    [Test]
    public async Task Trailers_ChangedWhileTheMethodReturnsWell_EndTheCallUnknownAtMost(
        [ValueSource(typeof(AnyCall), nameof(AnyCall.Shapes))] MethodType shape)
    {
        var stop = new CancellationTokenSource();
        CallRig rig = await UseAsync(Everywhere(context =>
        {
            context.ResponseTrailers.Disturb(stop.Token);
            return Task.CompletedTask;
        }));
        rig.Log.Expect(MethodThrew);

        StatusCode end;
        do
        {
            // Methods with a stream of requests do not read it.
            using AnyCall call = AnyCall.Start(rig.Invoker, shape);
            await CatchAsync(() => call.Outcome);
            await stop.CancelAsync();
            stop = new CancellationTokenSource();
            end = call.Status.StatusCode;
            Assert.That(end, Is.EqualTo(StatusCode.OK).Or.EqualTo(StatusCode.Unknown));
        }
        while (end == StatusCode.OK);
    }

    [Test]
    public async Task Headers_ChangedWhileTheyAreWritten_GoOutAsTheyWereOrFailTheMethod()
    {
        var stop = new CancellationTokenSource();
        CallRig rig = await UseAsync(Everywhere(context =>
        {
            var headers = new Metadata();
            headers.Disturb(stop.Token);
            return context.WriteResponseHeadersAsync(headers);
        }));
        rig.Log.Expect(MethodThrew);

        StatusCode end;
        do
        {
            using AnyCall call = AnyCall.Start(rig.Invoker, MethodType.Unary);
            await CatchAsync(() => call.Outcome);
            await stop.CancelAsync();
            stop = new CancellationTokenSource();
            end = call.Status.StatusCode;
            Assert.That(end, Is.EqualTo(StatusCode.OK).Or.EqualTo(StatusCode.Unknown));
        }
        while (end == StatusCode.OK);
    }
}
