namespace RpcOverShm.FunctionalTests.OneWay;

/// <summary>A server that is behind: its callers wait, and nothing is lost.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class OneWayLimitTests : OneWayFixture
{
    // A window of 512 KiB and 1 KiB for each call.
    private const int MostCalls = 512;

    [Test]
    public async Task ServerThatIsBehind_MakesCallsWait_UntilItHasRoom([Values] bool isBlocking)
    {
        ShmRig rig = await StartOneWayAsync();
        ScriptClient client = OneWay(rig);

        (int sent, Task waiting) = await FillAsync(client).Bounded();
        Task next = isBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.Of("next")))
            : client.UnaryAsync(Payloads.Of("next")).ResponseAsync;
        await Timeouts.Eventually(() => Begun.Length == sent, "all that were sent have begun");
        string answer = (await rig.Client.UnaryAsync(Payloads.Of("x")).ResponseAsync.Bounded()).Text();
        bool isWaiting = !waiting.IsCompleted && !next.IsCompleted;
        Release();
        await Task.WhenAll(waiting, next).Bounded();

        Assert.That(isWaiting, Is.True);
        Assert.That(sent, Is.InRange(MostCalls / 2, MostCalls));
        Assert.That(answer, Is.EqualTo("x"), "Other calls do not wait.");
        await Timeouts.Eventually(() => Ended == sent + 3, "every call has run");
        Assert.That(Failures, Is.Empty);
    }

    [Test]
    public async Task CallsAboveTheLimit_WithoutAQueue_WaitAndAllRunInOrder([Values] bool isOfServer)
    {
        ShmRig rig = await StartOneWayAsync(options =>
        {
            options.Limits.MaxQueuedCallsPerConnection = 0;
            if (isOfServer)
            {
                options.Limits.MaxConcurrentCalls = 1;
            }
            else
            {
                options.Limits.MaxConcurrentCallsPerConnection = 1;
            }
        });
        ScriptClient client = OneWay(rig);
        string[] sent = ["hold", .. Enumerable.Range(0, 100).Select(number => $"{number}")];

        // With one slot for all calls of the connection, they wait at the client.
        await rig.ShmChannel.ConnectAsync().Bounded();
        Task[] calls = [.. sent.Select(text => client.UnaryAsync(Payloads.Of(text)).ResponseAsync)];
        await (isOfServer ? Task.WhenAll(calls) : calls[0]).Bounded();
        await Timeouts.Eventually(() => Begun.Length == 1);
        Release();

        await Task.WhenAll(calls).Bounded();
        await Timeouts.Eventually(() => Ended == sent.Length);
        Assert.That(Begun, Is.EqualTo(sent));
        Assert.That(Failures, Is.Empty);
    }

    [Test]
    public async Task WaitingCall_ThatIsGivenUp_IsNotSent_AndLetsTheNextOneGo(
        [Values] bool isDeadline, [Values] bool isBlocking)
    {
        ShmRig rig = await StartOneWayAsync();
        ScriptClient client = OneWay(rig);
        using var cancel = new CancellationTokenSource();
        (int sent, Task waiting) = await FillAsync(client).Bounded();
        CallOptions options = isDeadline
            ? new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(200))
            : new CallOptions(cancellationToken: cancel.Token);

        Task given = isBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.Of("given up"), options))
            : client.UnaryAsync(Payloads.Of("given up"), options).ResponseAsync;
        Task next = client.UnaryAsync(Payloads.Of("next")).ResponseAsync;
        await cancel.CancelAsync();
        RpcException failure = await FailureOf(given);
        Release();
        await Task.WhenAll(waiting, next).Bounded();

        Assert.That(
            failure.StatusCode, Is.EqualTo(isDeadline ? StatusCode.DeadlineExceeded : StatusCode.Cancelled));
        Assert.That(
            failure.Status.Detail,
            Is.EqualTo(isDeadline
                ? $"Of the one-way calls of this connection, the server, process {Environment.ProcessId}, is behind "
                    + "with many; this one has waited for room."
                : "Call canceled by the client."));
        await Timeouts.Eventually(() => Ended == sent + 2);
        Assert.That(Begun, Does.Not.Contain("given up").And.Contain("next"));
    }

    [Test]
    public async Task DisposedCall_ThatWaits_IsCancelled()
    {
        ShmRig rig = await StartOneWayAsync();
        ScriptClient client = OneWay(rig);
        (_, Task waiting) = await FillAsync(client).Bounded();
        AsyncUnaryCall<Payload> call = client.UnaryAsync(Payloads.Of("disposed"));

        call.Dispose();

        Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Release();
        await waiting.Bounded();
        await client.UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();
        await Timeouts.Eventually(() => Begun.Contains("next"));
        Assert.That(Begun, Does.Not.Contain("disposed"));
    }

    [Test]
    public async Task WaitingCall_OfAChannelThatIsDisposed_IsCancelled()
    {
        ShmRig rig = await StartOneWayAsync();
        (_, Task waiting) = await FillAsync(OneWay(rig)).Bounded();

        await rig.ShmChannel.DisposeAsync();

        Assert.That((await FailureOf(waiting)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Release();
    }

    [TestCase(5)]
    [TestCase(20, Category = LongAttribute.Name)]
    public async Task LargeCalls_WaitForEachOther_AndAllRun(int count)
    {
        ShmRig rig = await StartOneWayAsync();
        ScriptClient client = OneWay(rig);
        Task[] calls =
        [
            .. Enumerable.Range(0, count).Select(_ => client.UnaryAsync(Payloads.OfSize(1 << 20)).ResponseAsync),
        ];

        await Task.WhenAll(calls).Bounded();

        await Timeouts.Eventually(() => Ended == count);
        Assert.That(Failures, Is.Empty);
    }

    [Test]
    public async Task ManyCalls_ThatAreNotAwaited_RunInTheirOrder()
    {
        const int Calls = 3000;
        ShmRig rig = await StartOneWayAsync(options => options.Limits.MaxConcurrentCallsPerConnection = 1);
        ScriptClient client = OneWay(rig);
        await rig.Client.UnaryAsync(Payloads.Of("first")).ResponseAsync.Bounded();

        Task[] calls =
        [
            .. Enumerable.Range(0, Calls).Select(i => client.UnaryAsync(Payloads.Of($"{i}")).ResponseAsync),
        ];
        await Task.WhenAll(calls).Bounded();

        await Timeouts.Eventually(() => Ended == Calls + 1);
        Assert.That(Begun.Skip(1), Is.EqualTo(Enumerable.Range(0, Calls).Select(i => $"{i}")));
    }

    [Test]
    public async Task FailuresWithASlowHandler_HoldUpTheirClient_AndNoneIsLost()
    {
        const int Calls = 1500;
        int reported = 0;
        using var mayGoOn = new ManualResetEventSlim();
        ShmRig rig = await StartOneWayAsync(new Script
        {
            Unary = (_, _) => throw new RpcException(new Status(StatusCode.NotFound, "")),
        });
        var client = new ScriptClient(rig.ShmChannel.CreateOneWayInvoker((_, _) =>
        {
            mayGoOn.Wait();
            Interlocked.Increment(ref reported);
        }));

        Task sending = Timeouts.OnThread(() =>
        {
            for (int i = 0; i < Calls; i++)
            {
                client.Unary(Payloads.Empty);
            }
        });

        // The handlers keep all threads of the pool, so this one asks by itself.
        bool isFull = SpinWait.SpinUntil(() => LimitReachedBySender(rig), Timeouts.Wait);
        bool isSending = !sending.IsCompleted;
        mayGoOn.Set();
        await sending.Bounded();

        await Timeouts.Eventually(() => Volatile.Read(ref reported) == Calls);
        Assert.That(isFull && isSending, Is.True);
    }

    // The window has no counter of its own: the server has read as many calls as it takes.
    private static bool LimitReachedBySender(ShmRig rig) => rig.Served.Sum(one => one.Admitted) >= MostCalls / 2;
}
