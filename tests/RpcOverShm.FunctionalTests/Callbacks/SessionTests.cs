using System.Collections.Concurrent;
using System.Security.Claims;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.Callbacks;

/// <summary>Sessions: a channel as the server sees it.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class SessionTests : CallbackFixture
{
    [Test]
    public async Task Callback_AfterTheEndOfItsSession_IsUnavailable_AndARunningOneToo()
    {
        ScriptClient? back = null;
        var isRunning = new TaskCompletionSource();
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = (request, context) =>
                {
                    back = Back(context);
                    return Task.FromResult(request);
                },
            },
            new Script
            {
                Unary = async (request, context) =>
                {
                    isRunning.SetResult();
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                    return request;
                },
            });
        To(channel).Unary(Payloads.Empty);
        AsyncUnaryCall<Payload> running = back!.UnaryAsync(Payloads.Empty);
        await isRunning.Task.Bounded();

        await channel.ShutdownAsync().Bounded();

        Assert.That((await FailureOf(running)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That((await FailureOf(back.UnaryAsync(Payloads.Empty))).StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    private const int SessionHandlerThrew = 307;
    private const int PeerLost = 102;

    private readonly ConcurrentQueue<ShmSession> _seen = new();

    private Script Noting => new()
    {
        Unary = (request, context) =>
        {
            _seen.Enqueue(context.GetShmSession());
            return Task.FromResult(request);
        },
    };

    private Script NotingAndCallingBack => new()
    {
        Unary = async (request, context) =>
        {
            _seen.Enqueue(context.GetShmSession());
            return await Back(context).UnaryAsync(request);
        },
    };

    [Test]
    public async Task Session_OfAChannel_IsTheSameInEachCall_AndAnotherOneOfAnotherChannel()
    {
        ShmRig rig = await StartShmAsync(Noting);
        await using ShmChannel other = rig.OpenChannel();

        rig.Client.Unary(Payloads.Empty);
        rig.Client.Unary(Payloads.Empty);
        To(other).Unary(Payloads.Empty);

        ShmSession[] seen = [.. _seen];
        Assert.That(seen[1], Is.SameAs(seen[0]));
        Assert.That(seen.Select(session => session.Id), Is.EqualTo(new[] { 1, 1, 2 }));
        Assert.That(seen[0].OffersCallbacks, Is.False);
    }

    [Test]
    public async Task Session_OfAClient_KnowsItsProcessAndUser()
    {
        ShmRig rig = await StartShmAsync(Noting);

        rig.Client.Unary(Payloads.Empty);

        ShmSession session = _seen.Single();
        Assert.That(session.ProcessId, Is.EqualTo(Environment.ProcessId));
        ClaimsPrincipal user = session.User;
        Assert.That(user.Identity!.IsAuthenticated, Is.True);
        string name = OperatingSystem.IsWindows()
            ? $@"{Environment.UserDomainName}\{Environment.UserName}"
            : Environment.UserName;
        Assert.That(user.Identity.Name, Is.EqualTo(name));
        string id = $"{HostSystem.Current.OwnUser}";
        string group = OperatingSystem.IsWindows() ? id : $"{FileFacts.OfPath("/proc/self/task")!.Value.GroupId}";
        Assert.That(
            user.Claims.Select(claim => (claim.Type, claim.Value)),
            Is.EquivalentTo(new[]
            {
                (ClaimTypes.Name, name),
                (ShmClaimTypes.UserId, id),
                (ShmClaimTypes.GroupId, group),
                (ShmClaimTypes.ProcessId, $"{Environment.ProcessId}"),
            }));
        Assert.That(user.IsInRole(group), Is.True);
        Assert.That(session.User, Is.SameAs(user));
    }

    [Test]
    public async Task Session_OfACall_CannotBeReplaced()
    {
        var session = new ShmSession(new ClaimsPrincipal());
        InvalidOperationException? refused = null;
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (request, context) =>
            {
                refused = Assert.Throws<InvalidOperationException>(() => context.SetShmSession(session));
                _seen.Enqueue(context.GetShmSession());
                return Task.FromResult(request);
            },
        });

        rig.Client.Unary(Payloads.Empty);

        Assert.That(refused?.Message, Is.EqualTo("The call came over shared memory: its session cannot be replaced."));
        Assert.That(_seen.Single(), Is.Not.SameAs(session));
    }

    [Test]
    public async Task Items_OfASession_LastFromCallToCall()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = (request, context) =>
            {
                ConcurrentDictionary<object, object?> items = context.GetShmSession().Items;
                object? calls = items.AddOrUpdate("calls", 1, (_, before) => (int)before! + 1);
                return Task.FromResult(Payloads.Of($"{calls}"));
            },
        });

        rig.Client.Unary(Payloads.Empty);

        Assert.That(rig.Client.Unary(Payloads.Empty).Text(), Is.EqualTo("2"));
    }

    [Test]
    public async Task Events_OfASession_AreItsStart_AndThenItsEnd()
    {
        using var mayEnd = new ManualResetEventSlim();
        var told = new ConcurrentQueue<string>();
        var hasEnded = new TaskCompletionSource<bool>();
        ShmRig rig = await StartShmAsync(Noting);
        rig.Server.SessionStarted += (server, session) =>
        {
            mayEnd.Wait(Timeouts.Wait);
            told.Enqueue($"started {session.Id} {server == rig.Server}");
        };
        rig.Server.SessionEnded += (_, session) =>
        {
            told.Enqueue($"ended {session.Id}");
            hasEnded.SetResult(session.Closed.IsCancellationRequested);
        };

        rig.Client.Unary(Payloads.Empty);
        await rig.ShmChannel.ShutdownAsync().Bounded();
        mayEnd.Set();

        Assert.That(await hasEnded.Task.Bounded(), Is.True);
        Assert.That(told, Is.EqualTo(new[] { "started 1 True", "ended 1" }));
    }

    [Test]
    public async Task Sessions_OfAServer_AreThoseThatAreOpen()
    {
        var atTheEnd = new TaskCompletionSource<long[]>();
        ShmRig rig = await StartShmAsync(Noting);
        rig.Server.SessionEnded += (_, _) => atTheEnd.TrySetResult([.. Open(rig.Server)]);
        await using ShmServer notStarted = new("shm://sessions-not-started");
        ShmChannel other = rig.OpenChannel();
        rig.Client.Unary(Payloads.Empty);
        To(other).Unary(Payloads.Empty);

        IReadOnlyList<ShmSession> both = rig.Server.Sessions;
        await rig.ShmChannel.ShutdownAsync().Bounded();
        long[] left = await atTheEnd.Task.Bounded();
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();

        Assert.That(both, Is.EqualTo(_seen).AsCollection, "A method sees the same objects.");
        Assert.That(left, Is.EqualTo(new[] { 2 }));
        Assert.That(both, Has.Count.EqualTo(2), "It is a snapshot.");
        Assert.That(rig.Server.Sessions, Is.Empty);
        Assert.That(notStarted.Sessions, Is.Empty);
    }

    [Test]
    public async Task Stop_OfAServer_WaitsForTheHandlersOfSessions_AndAKillDoesNot([Values] bool isKilled)
    {
        var mayEnd = new ManualResetEventSlim(); // Not disposed: nobody waits for the handler after a kill.
        bool hasEnded = false;
        ShmRig rig = await StartShmAsync(Noting);
        rig.Server.SessionEnded += (_, _) =>
        {
            mayEnd.Wait(Timeouts.Wait);
            hasEnded = true;
        };
        rig.Client.Unary(Payloads.Empty);

        Task stopping = isKilled ? rig.Server.StopAsync(TimeSpan.Zero) : rig.Server.StopAsync();
        if (isKilled)
        {
            await stopping.Bounded();
        }

        bool wasStopped = stopping.IsCompleted;
        mayEnd.Set();
        await stopping.Bounded();

        Assert.That(wasStopped, Is.EqualTo(isKilled));
        Assert.That(hasEnded || isKilled, Is.True);
    }

    [Test]
    public async Task Context_ThatWrapsAnother_HasItsSession()
    {
        ShmRig rig = await StartShmAsync(Noting, new RigOptions { OptionInterceptors = [new WrappingInterceptor()] });

        rig.Client.Unary(Payloads.Empty);

        Assert.That(_seen.Single().Id, Is.EqualTo(1));
    }

    [Test]
    public async Task Handlers_ThatThrow_AreLogged_AndTheSessionGoesOn()
    {
        var hasEnded = new TaskCompletionSource();
        ShmRig rig = await StartShmAsync(Noting);
        rig.Log.Expect(SessionHandlerThrew, SessionHandlerThrew, SessionHandlerThrew);
        rig.Server.SessionStarted += (_, _) => throw new InvalidOperationException("begun");
        rig.Server.SessionEnded += (_, _) =>
        {
            hasEnded.SetResult();
            throw new InvalidOperationException("ended");
        };

        rig.Client.Unary(Payloads.Empty);
        _seen.Single().Closed.Register(() => throw new InvalidOperationException("closed"));
        await rig.ShmChannel.ShutdownAsync().Bounded();

        await hasEnded.Task.Bounded();
        await Timeouts.Eventually(() => rig.Log.Of(SessionHandlerThrew).Count == 3);
    }

    [Test]
    public async Task Session_AfterAReconnect_IsANewOne_AndCallbacksAreOfferedAgain()
    {
        (ShmRig rig, ShmChannel channel) = await StartAsync(
            NotingAndCallingBack,
            new Script { Unary = (request, _) => Task.FromResult(Payloads.Of($"back {request.Text()}")) });
        rig.Log.Expect(PeerLost);
        To(channel).Unary(Payloads.Empty);

        rig.OnlyConnection.Close(new CloseReason(CloseKind.PeerLost, "The test cuts the connection."));
        await Timeouts.Eventually(() => channel.State != ConnectivityState.Ready);
        string text = To(channel).Unary(Payloads.Of("again")).Text();

        ShmSession[] seen = [.. _seen];
        Assert.That(text, Is.EqualTo("back again"));
        Assert.That(seen[1].Id, Is.GreaterThan(seen[0].Id));
        await Timeouts.Eventually(() => seen[0].Closed.IsCancellationRequested);
        Assert.That(seen[1].Closed.IsCancellationRequested, Is.False);
    }

    [Test]
    public async Task GetShmSession_InACallback_OrWithoutAContext_Throws()
    {
        Exception? seen = null;
        (_, ShmChannel channel) = await StartAsync(
            new Script { Unary = async (request, context) => await Back(context).UnaryAsync(request) },
            new Script
            {
                Unary = (request, context) =>
                {
                    seen = Assert.Catch(() => context.GetShmSession());
                    return Task.FromResult(request);
                },
            });

        To(channel).Unary(Payloads.Empty);

        Assert.That(seen, Is.TypeOf<InvalidOperationException>());
        Assert.That(() => ShmServerCallContextExtensions.GetShmSession(null!), Throws.ArgumentNullException);
    }

    private static IEnumerable<long> Open(ShmServer server) => server.Sessions.Select(session => session.Id);

    private sealed class WrappingInterceptor : Grpc.Core.Interceptors.Interceptor
    {
        public override Task<TResponse> UnaryServerHandler<TRequest, TResponse>(
            TRequest request, ServerCallContext context, UnaryServerMethod<TRequest, TResponse> continuation) =>
            continuation(request, new WrappingContext(context));
    }

    private sealed class WrappingContext(ServerCallContext inner) : ServerCallContext
    {
        protected override string MethodCore => inner.Method;

        protected override string HostCore => inner.Host;

        protected override string PeerCore => inner.Peer;

        protected override DateTime DeadlineCore => inner.Deadline;

        protected override Metadata RequestHeadersCore => inner.RequestHeaders;

        protected override CancellationToken CancellationTokenCore => inner.CancellationToken;

        protected override Metadata ResponseTrailersCore => inner.ResponseTrailers;

        protected override Status StatusCore { get; set; }

        protected override WriteOptions? WriteOptionsCore { get; set; }

        protected override AuthContext AuthContextCore => inner.AuthContext;

        protected override IDictionary<object, object> UserStateCore => inner.UserState;

        protected override ContextPropagationToken CreatePropagationTokenCore(ContextPropagationOptions? options) =>
            inner.CreatePropagationToken(options);

        protected override Task WriteResponseHeadersAsyncCore(Metadata responseHeaders) =>
            inner.WriteResponseHeadersAsync(responseHeaders);
    }
}
