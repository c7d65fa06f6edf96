using System.Net.Sockets;
using System.Runtime.ExceptionServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Links;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Clients;

/// <summary>Callers share the attempts to connect. A server that does not answer holds an attempt for a test.</summary>
internal sealed class SubchannelTests
{
    // It belongs to no chain that is under way, and the server takes no new calls there.
    [Test]
    public async Task OneWayCall_OfACallbackWhoseServerLeaves_GoesElsewhere()
    {
        await using var rig = new SubchannelRig();
        rig.Listen();
        Connection first = await rig.GetAsync(isWaitForReady: true).Bounded();
        using RawPeer server = rig.TakeServer();
        first.StartCall(new RecordingCall(), FrameFlags.None, default, default); // keeps the connection
        server.Receive();
        server.Send(new RawFrame(FrameKind.GoAway, CallId.None));
        await Timeouts.Eventually(() => !first.IsOpenForCalls);
        var name = new ParentCall(first.Id, new CallId(0, 1, isFromAcceptor: true));
        var callback = new RecordingCall(isServed: true) { KnownAs = name };
        RunningCall.Set(new RunningCall(callback, new CallGate(limit: null)));

        Connection ofOther = await rig.GetAsync(isWaitForReady: true).Bounded();
        Connection ofOneWay = await rig.Subchannel.GetAsync(isWaitForReady: true, isOneWay: true).AsTask().Bounded();

        Assert.That(ofOther, Is.SameAs(first));
        Assert.That(ofOneWay, Is.Not.SameAs(first));
    }

    [Test]
    public async Task Callers_OfOneAttemptAndOfThePauseBehindIt_ShareItsFailure()
    {
        using var server = new TestDoor();
        await using var rig = new SubchannelRig(server.Address);
        Task<Connection> first = rig.GetAsync();
        using Wire handshake = server.Take();
        Task<Connection> second = rig.GetAsync();
        Task<Connection> ready = rig.GetAsync(isWaitForReady: true);

        handshake.Dispose();
        ConnectException failure = await FailureOf<ConnectException>(first);

        Assert.That(failure.Failure, Is.EqualTo(ConnectFailure.Refused));
        Assert.That(await FailureOf<ConnectException>(second), Is.SameAs(failure));
        Assert.That(await FailureOf<ConnectException>(rig.GetAsync()), Is.SameAs(failure));
        Assert.That(ready.IsCompleted, Is.False);
        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.TransientFailure));
    }

    [Test, LinuxOnly("A listening socket whose queue is full.")]
    public async Task Caller_DuringAnAttemptThatFindsNoServer_GetsAnAttemptOfItsOwn()
    {
        using var server = new FakeServer(backlog: 1);
        List<Socket> waiting = server.FillQueue(); // The attempt waits for its turn.
        await using var rig = new SubchannelRig(server.Address);
        Task<Connection>[] callers = [rig.GetAsync(), rig.GetAsync(), rig.GetAsync()];

        server.Dispose();
        waiting.ForEach(socket => socket.Dispose());
        var failures = new List<ConnectException>();
        foreach (Task<Connection> caller in callers)
        {
            failures.Add(await FailureOf<ConnectException>(caller));
        }

        Assert.That(failures.Select(failure => failure.Failure), Is.All.EqualTo(ConnectFailure.NotListening));
        Assert.That(failures[1], Is.Not.SameAs(failures[0]).And.SameAs(failures[2]));
    }

    [Test]
    public async Task Caller_InThePauseAfterThereWasNoServer_EndsItForAll()
    {
        await using var rig = new SubchannelRig();
        await FailureOf<ConnectException>(rig.GetAsync());
        Task<Connection> ready = rig.GetAsync(isWaitForReady: true);
        rig.Listen();
        bool wasReady = ready.IsCompleted;

        Connection connection = await rig.GetAsync().Bounded();

        Assert.That(wasReady, Is.False);
        Assert.That(await ready.Bounded(), Is.SameAs(connection));
        Assert.That(await rig.GetAsync().Bounded(), Is.SameAs(connection));
        Assert.That(
            (rig.Subchannel.State, rig.Subchannel.LastFailure),
            Is.EqualTo((ConnectivityState.Ready, (object?)null)));
    }

    [Test]
    public async Task ShutDown_WakesAllWhoWait([Values] bool isInPause)
    {
        using var silent = new TestDoor();
        await using var rig = new SubchannelRig(isInPause ? null : silent.Address);
        if (isInPause)
        {
            await FailureOf<ConnectException>(rig.GetAsync());
        }

        Task<Connection>[] waiting = isInPause
            ? [rig.GetAsync(isWaitForReady: true)]
            : [rig.GetAsync(), rig.GetAsync(), rig.GetAsync(isWaitForReady: true)];
        bool wasWoken = Array.Exists(waiting, task => task.IsCompleted);

        Connection[] live = rig.Subchannel.ShutDown();

        Assert.That(wasWoken, Is.False);
        Assert.That(live, Is.Empty);
        foreach (Task<Connection> task in waiting.Append(rig.GetAsync(isWaitForReady: true)))
        {
            await FailureOf<ObjectDisposedException>(task);
        }

        Assert.That(rig.Subchannel.State, Is.EqualTo(ConnectivityState.Shutdown));
    }

    // The address fails before an attempt could notice the shutdown.
    [Test, LinuxOnly("A runtime directory that went.")]
    public async Task ShutDown_InAPauseAfterAFailureThatStays_EndsTheAttempts()
    {
        using var directory = new TestDirectory();
        Dictionary<string, string?> variables = new()
        {
            ["XDG_RUNTIME_DIR"] = directory.Path,
            ["TMPDIR"] = "/" + new string('t', 200), // too long for a socket
        };
        RendezvousAddress address;
        Swap(variables);
        try
        {
            address = RendezvousAddress.Parse("shm://name", null);
        }
        finally
        {
            Swap(variables);
        }

        await using var rig = new SubchannelRig(address);
        directory.Dispose();
        int failures = 0;
        void Count(object? sender, FirstChanceExceptionEventArgs thrown) =>
            Interlocked.Add(ref failures, thrown.Exception is ConnectException ? 1 : 0);

        AppDomain.CurrentDomain.FirstChanceException += Count;
        try
        {
            ConnectException failure = await FailureOf<ConnectException>(rig.GetAsync());
            Assert.That(failure.Failure, Is.EqualTo(ConnectFailure.SystemError));
            rig.Subchannel.ShutDown();
            int before = Volatile.Read(ref failures);

            // An attempt takes some microseconds.
            await Task.Delay(100);
            Assert.That(Volatile.Read(ref failures) - before, Is.LessThan(10));
        }
        finally
        {
            AppDomain.CurrentDomain.FirstChanceException -= Count;
        }
    }

    // Sets the variables, and keeps their values for the next time.
    private static void Swap(Dictionary<string, string?> variables)
    {
        foreach ((string name, string? value) in variables.ToArray())
        {
            variables[name] = Environment.GetEnvironmentVariable(name);
            Environment.SetEnvironmentVariable(name, value);
        }
    }

    private static async Task<T> FailureOf<T>(Task<Connection> task)
        where T : Exception
    {
        await ((Task)task).Bounded().ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        Assert.That(task.Exception?.InnerException, Is.InstanceOf<T>());
        return (T)task.Exception!.InnerException!;
    }
}
