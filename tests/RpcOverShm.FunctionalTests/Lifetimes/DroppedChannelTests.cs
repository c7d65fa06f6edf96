using System.Runtime.CompilerServices;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.FunctionalTests.Lifetimes;

/// <summary>
/// Channels that their user drops without disposing them: they are closed after a collection, unless something still
/// uses them.
/// </summary>
internal sealed class DroppedChannelTests() : RigFixture(RigKind.Shm)
{
    private const int ChannelDropped = 118;

    private static readonly Dictionary<string, Func<ShmChannel, Task>> s_uses = new()
    {
        ["blocking"] = channel => Task.FromResult(To(channel).Unary(Payloads.Empty)),
        ["awaited"] = channel => To(channel).UnaryAsync(Payloads.Empty).ResponseAsync,
        ["large"] = channel => To(channel).UnaryAsync(Payloads.OfSize(1 << 20)).ResponseAsync,
        ["deadline"] = channel => To(channel).UnaryAsync(
            Payloads.Empty, new CallOptions(deadline: DateTime.UtcNow.AddHours(1))).ResponseAsync,
        ["one-way"] = channel => new ScriptClient(channel.CreateOneWayInvoker()).UnaryAsync(Payloads.Empty)
            .ResponseAsync,
        ["connect"] = channel => channel.ConnectAsync(),
        ["stream"] = async channel =>
        {
            using AsyncServerStreamingCall<Payload> call = To(channel).ServerStream(Payloads.Empty);
            await call.ResponseStream.ToListAsync();
        },
        ["batch"] = async channel =>
        {
            using ShmCallBatch batch = channel.CreateBatch();
            Task call = new ScriptClient(batch.CallInvoker).UnaryAsync(Payloads.Empty).ResponseAsync;
            await batch.SendAsync();
            await call;
        },
    };

    private static IEnumerable<string> Uses => s_uses.Keys;

    [TestCaseSource(nameof(Uses))]
    public async Task ChannelsUsedOnce_AndDropped_GiveTheirConnectionsBack(string use)
    {
        const int Channels = 4;
        ShmRig rig = await StartShmAsync(
            new Script(),
            new RigOptions { Server = static options => options.Listen.MaxConnectionsPerProcess = Channels });

        await DropAsync(rig, Channels, use);
        await Timeouts.Eventually(() => rig.Served.Count == Channels);
        await CollectUntilAsync(() => rig.Served.Count == 0);
        rig.Client.Unary(Payloads.Empty);

        LogEntry entry = await rig.Log.WaitForAsync(ChannelDropped);
        Assert.That(entry.Level, Is.EqualTo(LogLevel.Warning));
        Assert.That(entry.Message, Does.Contain(rig.Address).And.Contain("without Dispose"));
        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(ChannelDropped), Has.Count.EqualTo(Channels));
    }

    // A thread keeps objects of its last call for the next one.
    [Test]
    public async Task ChannelUsedByAThreadThatLives_IsClosed()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using var mayEnd = new ManualResetEventSlim();
        var used = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);

        Task thread = Timeouts.OnThread(() =>
        {
            Use(rig, "blocking");
            used.SetResult();
            mayEnd.Wait(Timeouts.Wait);
        });
        await used.Task.Bounded();

        await CollectUntilAsync(() => rig.Served.Count == 0);
        mayEnd.Set();
        await thread.Bounded();
    }

    [TestCase("retries")]
    [TestCase("idle timeout")]
    public async Task ChannelWithMore_IsClosed(string with)
    {
        ShmRig rig = await StartShmAsync(new Script());

        await OnEndedThreadAsync(() => Use(rig, "awaited", options =>
        {
            options.ServiceConfig = with == "retries"
                ? new RigRetries(3, StatusCode.Unavailable).ToServiceConfig()
                : null;
            options.IdleTimeout = with == "idle timeout" ? TimeSpan.FromHours(1) : null;
        }));

        await CollectUntilAsync(() => rig.Served.Count == 0);
    }

    [Test]
    public async Task ChannelDropped_AfterItsConnectWasCancelled_StopsToTry()
    {
        ShmRig rig = await StartWithoutServerAsync();

        WeakReference connections = await OnEndedThreadAsync(() => CancelConnect(rig));

        await CollectUntilAsync(() => !connections.IsAlive);
        await rig.Log.WaitForAsync(ChannelDropped);
    }

    [Test]
    public async Task ChannelsDisposedOrNeverConnected_AreDroppedWithoutAWord()
    {
        ShmRig rig = await StartShmAsync(new Script());

        await OnEndedThreadAsync(() =>
        {
            _ = Open(rig).CreateCallInvoker();
            using ShmChannel disposed = Open(rig);
            To(disposed).Unary(Payloads.Empty);
        });
        Unobserved.Collect();
        await CallRig.WhenLoggedAsync();

        Assert.That(rig.Log.Of(ChannelDropped), Is.Empty);
    }

    [Test]
    public async Task ChannelWhoseClientIsKept_Stays()
    {
        ShmRig rig = await StartShmAsync(new Script());

        ScriptClient client = await OnEndedThreadAsync(() =>
        {
            ScriptClient made = To(Open(rig));
            made.Unary(Payloads.Empty);
            return made;
        });
        Unobserved.Collect();
        client.Unary(Payloads.Empty);

        Assert.That(rig.Served, Has.Count.EqualTo(1));
        Assert.That(rig.Log.Of(ChannelDropped), Is.Empty);
    }

    [Test]
    public async Task ChannelWithAnOpenStream_StaysUntilItsEnd()
    {
        ShmRig rig = await StartShmAsync(new Script());

        await OnEndedThreadAsync(() => TalkAsync(rig).GetAwaiter().GetResult());

        await CollectUntilAsync(() => rig.Served.Count == 0);

        // A method, so that nothing of the stream stays in the test's own state.
        static async Task TalkAsync(ShmRig rig)
        {
            using AsyncDuplexStreamingCall<Payload, Payload> call = To(Open(rig)).Duplex();
            for (int i = 0; i < 3; i++)
            {
                Unobserved.Collect();
                await call.RequestStream.WriteAsync(Payloads.Of($"{i}")).Bounded();
                Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
                Assert.That(call.ResponseStream.Current.Text(), Is.EqualTo($"{i}"));
            }
        }
    }

    [Test]
    public async Task ChannelThatIsWaitedFor_Stays([Values] bool isCall)
    {
        ShmRig rig = await StartWithoutServerAsync();

        Task waiting = await OnEndedThreadAsync(() =>
        {
            ShmChannel channel = Open(rig);
            return isCall
                ? To(channel).UnaryAsync(Payloads.Empty, new CallOptions().WithWaitForReady()).ResponseAsync
                : channel.ConnectAsync();
        });
        Unobserved.Collect();
        await rig.StartServerAsync(new Script().Build());

        await waiting.Bounded();
        Assert.That(rig.Log.Of(ChannelDropped), Is.Empty);
    }

    [Test]
    public async Task ChannelWhoseStateIsWatched_Stays()
    {
        ShmRig rig = await StartShmAsync(new Script());

        Task changed = await OnEndedThreadAsync(() =>
        {
            ShmChannel channel = Open(rig);
            To(channel).Unary(Payloads.Empty);
            return channel.WaitForStateChangedAsync(ConnectivityState.Ready);
        });
        Unobserved.Collect();
        rig.Client.Unary(Payloads.Empty);
        bool wasEarly = changed.IsCompleted;
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();

        await changed.Bounded();
        Assert.That(wasEarly, Is.False);
        Assert.That(rig.Log.Of(ChannelDropped), Is.Empty);
    }

    // Nothing but its connection may refer to a channel that waits for callbacks.
    [Test]
    public async Task ChannelThatOffersServices_StaysForAsLongAsItIsConnected()
    {
        ShmSession? session = null;
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (request, context) =>
            {
                session = context.GetShmSession();
                return Task.FromResult(request);
            },
        });

        WeakReference channel = await OnEndedThreadAsync(() => new WeakReference(UseWithCallbacks(rig)));
        Unobserved.Collect();
        Payload answer = await new ScriptClient(session!.CreateCallInvoker()).UnaryAsync(Payloads.Of("x"))
            .ResponseAsync.Bounded();
        bool wasAlive = channel.IsAlive;
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();

        await CollectUntilAsync(() => !channel.IsAlive);
        Assert.That(answer.Text(), Is.EqualTo("x"));
        Assert.That(wasAlive);
    }

    [Test]
    public async Task ChannelThatOfferedServices_IsGarbageOnceItIsDisposed()
    {
        ShmRig rig = await StartShmAsync(new Script());

        WeakReference channel = await OnEndedThreadAsync(() =>
        {
            using ShmChannel disposed = UseWithCallbacks(rig);
            return new WeakReference(disposed);
        });

        await CollectUntilAsync(() => !channel.IsAlive);
    }

    private static ScriptClient To(ShmChannel channel) => new(channel.CreateCallInvoker());

    private static ShmChannel Open(ShmRig rig, Action<ShmChannelOptions>? change = null)
    {
        var options = new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = rig.RuntimeDirectory },
            LoggerFactory = rig.Log,
            Scheduling = RigOptions.Mode,
        };
        change?.Invoke(options);
        return ShmChannel.ForAddress(rig.Address, options);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Use(ShmRig rig, string use, Action<ShmChannelOptions>? change = null) =>
        s_uses[use](Open(rig, change)).Bounded().GetAwaiter().GetResult();

    private static ShmChannel UseWithCallbacks(ShmRig rig)
    {
        ShmChannel channel = Open(rig, options => options.Callbacks.Services.Add(new Script().Build()));
        To(channel).Unary(Payloads.Empty);
        return channel;
    }

    private static WeakReference CancelConnect(ShmRig rig)
    {
        ShmChannel channel = Open(rig);
        using var cancel = new CancellationTokenSource();
        Task connecting = channel.ConnectAsync(cancel.Token);
        cancel.Cancel();
        Assert.CatchAsync<OperationCanceledException>(() => connecting);
        return new WeakReference(channel.Connections);
    }

    private static Task DropAsync(ShmRig rig, int channels, string use) => OnEndedThreadAsync(() =>
    {
        for (int i = 0; i < channels; i++)
        {
            Use(rig, use);
        }
    });

    // So that no frame and no state of the test refers to the channel.
    private static async Task<T> OnEndedThreadAsync<T>(Func<T> act) => await Timeouts.OnThread(act);

    private static async Task OnEndedThreadAsync(Action act) => await Timeouts.OnThread(act);

    private static Task CollectUntilAsync(Func<bool> condition) => Timeouts.Eventually(
        () =>
        {
            Unobserved.Collect();
            return condition();
        },
        "what was dropped is collected");
}
