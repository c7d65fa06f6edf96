using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>Request metadata that the caller changes after the call has started; the call is not affected.</summary>
internal sealed class ChangedRequestMetadataTests() : ItemFixture(RigKind.Shm)
{
    private readonly ConcurrentQueue<string> _seen = [];

    [SetUp]
    public void ForgetWhatWasSeen() => _seen.Clear();

    [Test]
    public async Task Headers_ChangedWhileTheCallWaitsForAServer_AreAsTheyWere(
        [ValueSource(typeof(AnyCall), nameof(AnyCall.Shapes))] MethodType shape)
    {
        CallRig rig = await UseAsync(new Script());
        await rig.KillServerAsync().Bounded();
        var headers = new Metadata { { "key", "early" } };

        using AnyCall call = AnyCall.Start(rig.Invoker, shape, new CallOptions(headers).WithWaitForReady());
        Change(headers);
        await ((ShmRig)rig).StartServerAsync(
            Noting().Build(), ConformanceContract.BindService(new ConformanceService()));
        await call.Outcome.Bounded();

        Assert.That(_seen, Is.EqualTo(new[] { "key=early" }));
    }

    [Test]
    public async Task Headers_ChangedWhileCredentialsAreAsked_AreAsTheyWere(
        [ValueSource(typeof(AnyCall), nameof(AnyCall.Shapes))] MethodType shape)
    {
        CallRig rig = await UseAsync(Noting());
        var mayGoOn = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var headers = new Metadata { { "key", "early" } };
        var options = new CallOptions(
            headers, credentials: CallCredentials.FromInterceptor((_, _) => mayGoOn.Task));

        using AnyCall call = AnyCall.Start(rig.Invoker, shape, options);
        Change(headers);
        mayGoOn.SetResult();
        await call.Outcome.Bounded();

        Assert.That(_seen, Is.EqualTo(new[] { "key=early" }));
    }

    [Test]
    public async Task Headers_ChangedBetweenTheCallsOfABatch_AreThoseOfEachCall()
    {
        CallRig rig = await UseAsync(Noting());
        using ShmCallBatch batch = ((ShmRig)rig).ShmChannel.CreateBatch();
        var client = new ScriptClient(batch.CallInvoker);
        var headers = new Metadata { { "key", "early" } };
        var options = new CallOptions(headers);

        Task<Payload> first = client.UnaryAsync(Payloads.Empty, options).ResponseAsync;
        Change(headers);
        Task<Payload> second = client.UnaryAsync(Payloads.Empty, options).ResponseAsync;
        await batch.SendAsync().Bounded();
        await Task.WhenAll(first, second).Bounded();

        Assert.That(_seen, Is.EquivalentTo(new[] { "key=early", "key=late,more=late" }));
    }

    [Test]
    public async Task Headers_ChangedWhileTheCallIsMade_AreRefusedOrSentAsTheyWere()
    {
        CallRig rig = await UseAsync(Noting());
        var headers = new Metadata();
        using var stop = new CancellationTokenSource();
        headers.Disturb(stop.Token);

        Exception? refusal;
        do
        {
            refusal = await CatchAsync(
                () => rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers)).ResponseAsync);
        }
        while (refusal is null);
        await stop.CancelAsync();

        Assert.That(refusal, Is.TypeOf<InvalidOperationException>());
    }

    private static void Change(Metadata headers)
    {
        headers.Clear();
        headers.Add("key", "late");
        headers.Add("more", "late");
    }

    /// <summary>Records the request metadata that each method receives.</summary>
    private Script Noting() => Everywhere(context =>
    {
        _seen.Enqueue(string.Join(',', context.RequestHeaders.Select(entry => $"{entry.Key}={entry.Value}")));
        return Task.CompletedTask;
    });
}
