using System.Net.Sockets;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Linux;

/// <summary>A listener beside files of dead servers and other programs, and clients that write to its socket.</summary>
[LinuxOnly("The files of an address, and sockets. A pipe has no file.")]
public class ListenerFileTests : ListenerFixture
{
    private const int DeadServersRemoved = 11;

    [Test]
    public async Task Start_OfAFreeAddress_MakesFilesForTheOwnerAloneAndDisposeRemovesThem()
    {
        await using (Listener listener = Start())
        {
            const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;
            Assert.That(File.GetUnixFileMode(Files.SocketPath), Is.EqualTo(OwnerOnly));
            Assert.That(File.GetUnixFileMode(Files.LockPath), Is.EqualTo(OwnerOnly));
        }

        Assert.That(System.IO.Directory.GetFileSystemEntries(Directory.Combine("run")), Is.Empty);
    }

    [Test]
    public async Task Start_AfterTheLastServerDied_TakesTheAddressOver()
    {
        System.IO.Directory.CreateDirectory(Directory.Combine("run"), (UnixFileMode)0x1C0);
        DeadServer.Leave(Files.SocketPath);

        await using Listener listener = Start();

        await ConnectAsync();
    }

    [Test]
    public async Task Start_BesideDeadServers_RemovesTheirFiles_AndSaysHowMany()
    {
        var logger = new LogGuard();
        System.IO.Directory.CreateDirectory(Directory.Combine("run"), (UnixFileMode)0x1C0);
        for (int i = 0; i < 40; i++)
        {
            DeadServer.Leave(Directory.Combine($"run/dead{i}.sock"));
        }

        await using Listener listener = Start(logger);

        LogEntry entry = await logger.WaitForAsync(DeadServersRemoved);
        Assert.That(entry.Message, Does.Contain($"of 40 dead servers from {Directory.Combine("run")}."));
        Assert.That(System.IO.Directory.GetFileSystemEntries(Directory.Combine("run")), Has.Length.EqualTo(2));
        await ConnectAsync();
    }

    // The directory of a path is not this library's.
    [Test]
    public async Task Start_OfAPathBesideDeadServers_LeavesThem()
    {
        DeadServer.Leave(Directory.Combine("dead.sock"));
        var address = Addresses.Parse($"shm://{Directory.Combine("s")}", null);

        await using Listener listener = Listener.Start(address, Settings(), Links.Enqueue);

        Assert.That(Directory.FileNames, Is.SupersetOf(new[] { "dead.lock", "dead.sock" }));
    }

    // One that removes the files of dead servers holds the lock of each for a moment.
    [TestCase(50)]
    [TestCase(300, Category = LongAttribute.Name)]
    public async Task Start_WhileOthersRemoveDeadServers_IsNeverRefused(int starts)
    {
        string run = System.IO.Directory.CreateDirectory(Directory.Combine("run"), (UnixFileMode)0x1C0).FullName;
        bool isOver = false;
        var sweepers = Enumerable.Range(0, 2).Select(_ => TestThread.Start("sweeper", () =>
        {
            while (!Volatile.Read(ref isOver))
            {
                NamesInDirectory.RemoveDead(run);
            }
        })).ToArray();
        try
        {
            for (int i = 0; i < starts; i++)
            {
                DeadServer.Leave(Files.SocketPath);
                await using Listener listener = Start();
                Assert.That(
                    (File.Exists(Files.SocketPath), File.Exists(Files.LockPath)), Is.EqualTo((true, true)));
                await ConnectAsync();
            }
        }
        finally
        {
            Volatile.Write(ref isOver, true);
            Array.ForEach(sweepers, sweeper => sweeper.Join());
        }
    }

    [Test]
    public async Task Start_WhereTheLockIsHeldWithoutASocket_WaitsForTheHolder()
    {
        System.IO.Directory.CreateDirectory(Directory.Combine("run"), (UnixFileMode)0x1C0);
        RendezvousLock held = RendezvousLock.TryTake(Files.LockPath, out _)!;

        AssertFails(ConnectFailure.AddressInUse, "A server of this process already listens", "not for ever");
        held.Dispose();
        await using Listener listener = Start();
        await ConnectAsync();
    }

    [Test]
    public void Start_WhereAnotherProgramListens_LeavesItAlone()
    {
        System.IO.Directory.CreateDirectory(Directory.Combine("run"), (UnixFileMode)0x1C0);
        using Socket other = UnixSockets.Listen(Files.SocketPath, backlog: 1);

        AssertFails(ConnectFailure.AddressInUse, "Another program");
        Assert.That(File.Exists(Files.LockPath), Is.False);
    }

    [Test]
    public void Start_WhereAnotherProgramIsTooBusy_LeavesItAlone()
    {
        System.IO.Directory.CreateDirectory(Directory.Combine("run"), (UnixFileMode)0x1C0);
        using Socket other = UnixSockets.Listen(Files.SocketPath, backlog: 0);
        using Socket waiting = UnixSockets.Connect(Files.SocketPath);

        AssertFails(ConnectFailure.AddressInUse, "Another program");
    }

    [Test]
    public void Start_WhereAFileStands_LeavesItAlone()
    {
        System.IO.Directory.CreateDirectory(Directory.Combine("run"), (UnixFileMode)0x1C0);
        File.WriteAllText(Files.SocketPath, "precious");

        AssertFails(ConnectFailure.AddressInUse, "is no socket");
        Assert.That(File.ReadAllText(Files.SocketPath), Is.EqualTo("precious"));
    }

    [Test]
    public void Start_InADirectoryOpenToOthers_IsASystemError()
    {
        System.IO.Directory.CreateDirectory(Directory.Combine("run"));
        File.SetUnixFileMode(Directory.Combine("run"), (UnixFileMode)0x1FF);

        AssertFails(ConnectFailure.SystemError, "mode 0700");
    }

    [Test]
    public void Start_OfAPathInAMissingDirectory_IsASystemError()
    {
        var address = Addresses.Parse($"shm://{Directory.Combine("missing/s")}", null);

        Assert.That(
            () => Listener.Start(address, Settings(), Links.Enqueue),
            Throws.TypeOf<ConnectException>()
                .With.Property(nameof(ConnectException.Failure)).EqualTo(ConnectFailure.SystemError));
    }

    [Test]
    public async Task Accept_BesideSilentClients_GoesOn()
    {
        await using Listener listener = Start();
        Socket[] silent = [.. Enumerable.Range(0, 20).Select(_ => UnixSockets.Connect(Files.SocketPath))];

        await ConnectAsync();

        Array.ForEach(silent, socket => socket.Dispose());
    }

    [Test]
    [NonParallelizable]
    public void Accept_WhileThePoolIsBusy_NeedsNoneOfItsThreads()
    {
        Listener listener = Start();
        using var mayEnd = new ManualResetEventSlim();
        using var allEnded = new CountdownEvent(500);
        for (int i = 0; i < allEnded.InitialCount; i++)
        {
            ThreadPool.UnsafeQueueUserWorkItem(
                _ =>
                {
                    mayEnd.Wait();
                    allEnded.Signal();
                },
                null);
        }

        try
        {
            using Socket client = UnixSockets.Connect(Files.SocketPath);
            Hellos.Send(client, Hellos.Client.Encode(), Hellos.GoodDescriptor());
            using var receiver = new HelloReceiver(new SocketWire(client));

            Assert.That(() => receiver.TryReceive(), Is.True.After(20_000, 1));
            Assert.That(receiver.Message?.Type, Is.EqualTo(HelloType.Server));
        }
        finally
        {
            mayEnd.Set();
            allEnded.Wait(Timeouts.Wait);
            listener.DisposeAsync().AsTask().Wait(Timeouts.Wait);
        }
    }

    // The thread may have had no processor, or the process may have been frozen.
    [Test]
    public async Task Accept_OfAHelloThatCameWhileTheDoorStoodStill_IsAnsweredAfterItsTime()
    {
        TimeSpan time = TimeSpan.FromSeconds(1);
        await using Listener listener = Listener.Start(
            Address, Settings() with { ConnectTimeout = time }, Links.Enqueue);
        using Socket client = UnixSockets.Connect(Files.SocketPath);
        await ConnectAsync(); // Clients are accepted in their order, so the silent one is.
        using (var door = new StuckDoor())
        {
            await door.Stuck.Bounded();
            Hellos.Send(client, Hellos.Client.Encode(), Hellos.GoodDescriptor());
            await Task.Delay(time); // It is over before the door looks.
        }

        using Handshake.ReceivedHello? answer =
            await RawHandshake.ReceiveAsync(client, CancellationToken.None).Bounded();

        Assert.That(answer?.Hello.Type, Is.EqualTo(HelloType.Server));
    }

    [Test]
    public async Task DisposeAsync_WithHandshakesUnderWay_TellsTheClientsAndEnds()
    {
        Listener listener = Start();
        using Socket silent = UnixSockets.Connect(Files.SocketPath);
        await ConnectAsync(); // Clients are accepted in their order, so the silent one is.

        await listener.DisposeAsync().Bounded();

        using Handshake.ReceivedHello? refusal =
            await RawHandshake.ReceiveAsync(silent, CancellationToken.None).Bounded();
        Assert.That(refusal?.Hello.RefusalReason, Is.EqualTo(RefusalReason.Stopping));
    }

    [Test]
    public async Task StartAndDispose_ManyTimes_LeavesNothing()
    {
        int descriptors = ProcessResources.CountDescriptors();
        for (int i = 0; i < 30; i++)
        {
            await using Listener listener = Start();
        }

        Assert.That(() => ProcessResources.CountDescriptors(), Is.LessThanOrEqualTo(descriptors + 2).After(20_000, 10));
    }

    /// <summary>A source that keeps the loop of the doors until it is disposed.</summary>
    private sealed class StuckDoor : WatchableSource, IDisposable
    {
        private readonly SocketPair _sockets = new();
        private readonly ManualResetEventSlim _mayGoOn = new();
        private readonly TaskCompletionSource _stuck = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public StuckDoor()
        {
            Request();
            Assert.That(Watch(EventLoop.Door, _sockets.ServerWire), Is.Null);
        }

        public Task Stuck => _stuck.Task;

        public void Dispose()
        {
            _mayGoOn.Set();
            EndWatch();
            _sockets.Dispose();
        }

        protected override void OnReady()
        {
            _stuck.TrySetResult();
            _mayGoOn.Wait(Timeouts.Wait);
        }
    }

    private void AssertFails(ConnectFailure failure, string why, string because = "") => Assert.That(
        () => Start(),
        Throws.TypeOf<ConnectException>()
            .With.Property(nameof(ConnectException.Failure)).EqualTo(failure)
            .And.Message.Contains(why),
        because);
}
