using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Attacks on the front door of a server, measured with a <see cref="FrontDoorMeter"/>: descriptors whose close hangs,
/// which it does in this process, and silent clients.
/// </summary>
[Category("Attack")]
[SupportedOSPlatform("linux")]
[NonParallelizable]
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[OneMode]
[LinuxOnly("It attacks a Unix socket.")]
internal sealed partial class AttackTests
{
    private const long Ring = 64 << 10;
    private const int LimitReached = 109;
    private const int NobodysUser = 65534;
    private const int NotPermitted = 1; // EPERM
    private const UnixFileMode OpenToAll = (UnixFileMode)0x1FF; // 0777

    private static readonly TimeSpan s_betweenSilentOnes = TimeSpan.FromMilliseconds(100);
    private static readonly TimeSpan s_mostForOwnClose = TimeSpan.FromSeconds(0.5); // it mostly takes microseconds
    private static readonly PeerLimits s_limits = new(Ring, PeerLimits.SmallestCallWindow, 0, 0);

    private readonly TestDirectory _directory = new();
    private readonly LogGuard _log = new();
    private readonly LingeringDescriptors _lingering = new();
    private readonly List<Socket> _sockets = [];
    private readonly List<Task> _closing = [];
    private readonly ShmServer _server;
    private readonly FrontDoorMeter _meter;

    public AttackTests()
    {
        File.SetUnixFileMode(_directory.Path, OpenToAll);
        _server = new ShmServer(Address, new ShmServerOptions { LoggerFactory = _log });
        _server.Services.Add(new Script().Build());
        _meter = new FrontDoorMeter(Address);
    }

    private string SocketPath => _directory.Combine("s");

    private string Address => $"shm://{SocketPath}";

    [SetUp]
    public async Task StartAsync()
    {
        await _server.StartAsync();
        File.SetUnixFileMode(SocketPath, OpenToAll);
    }

    [TearDown]
    public async Task EndAsync()
    {
        _sockets.ForEach(socket => socket.Dispose());
        await _server.DisposeAsync().AsTask().Bounded();
        _lingering.Dispose();
        await Task.WhenAll(_closing).Bounded();
        _directory.Dispose();
        await CallRig.WhenLoggedAsync();
        _log.Check();
        _log.Dispose();
    }

    [Test]
    [Long(
        "The attack measures newcomers for seconds, up to three times.",
        "AttackTests.Stop_WithDescriptorsThatAreSlowToClose_DoesNotWaitForThem, ForeignHandlesTests")]
    public Task HelloWhoseDescriptorIsSlowToClose_HoldsNobodyUp([Values(1, 3, 100)] int descriptors) =>
        AssertHarmlessAsync(() => SendHelloAsync(descriptors));

    [Test]
    [Long(
        "The attack measures newcomers for seconds, up to three times.",
        "AttackTests.Stop_WithDescriptorsThatAreSlowToClose_DoesNotWaitForThem, HandshakeLieTests")]
    public async Task UnreadDescriptorOfARefusedUser_HoldsNobodyUp()
    {
        Assume.That(Environment.IsPrivilegedProcess, "Only root can be somebody else.");
        await AssertHarmlessAsync(async () =>
        {
            SafeFileHandle lingering = _lingering.Create();
            byte[] hello = MakeHello();
            Socket socket = null!;

            // At once, because the server refuses this user as soon as it has accepted the connection.
            await OnThreadOfNobody(() => Pass(lingering, () =>
            {
                socket = Connect();
                RawDescriptorSender.TrySendMany(socket, hello, lingering, 1);
            }));
            using Handshake.ReceivedHello? answer =
                await RawHandshake.ReceiveAsync(socket, CancellationToken.None).Bounded();
            Assert.That(answer!.Hello.RefusalReason, Is.EqualTo(RefusalReason.AccessDenied));
        });
    }

    [Test]
    [Long(
        "The attack measures newcomers for seconds, up to three times.",
        "AttackTests.Stop_WithDescriptorsThatAreSlowToClose_DoesNotWaitForThem, HandshakeLieTests")]
    public Task DescriptorsAfterTheHandshake_HoldNobodyUp() => _meter.AssertHarmlessAsync(async (stands, over) =>
    {
        // A kernel that refuses one (6.16) refuses all.
        bool isPossible = await TryPassAfterHandshakeAsync();
        for (int i = 0; i < ForeignHandles.MaxThreads && !isPossible; i++)
        {
            Assert.That(await TryPassAfterHandshakeAsync(), Is.False);
        }

        await (isPossible ? HangingCloses.MakeAsync(TryPassAfterHandshakeAsync) : Task.CompletedTask);
        stands();
        await over;
        await (isPossible ? HangingCloses.AssertAsync() : Task.CompletedTask);
        await EndHangingAsync();
    });

    [Test]
    [Long(
        "The attack measures newcomers for seconds, up to three times.",
        "PendingClientsTests, ConnectionLimitTests")]
    public async Task SilentSockets_AndTenNewOnesASecond_KeepNobodyOut()
    {
        await _meter.AssertHarmlessAsync(async (stands, over) =>
        {
            for (int i = 0; i < 641; i++)
            {
                await ConnectAsync();
            }

            stands();
            using var timer = new PeriodicTimer(s_betweenSilentOnes);
            while (!over.IsCompleted)
            {
                await ConnectAsync();
                await timer.WaitForNextTickAsync();
            }
        });

        LogEntry reached = await _log.WaitForAsync(LimitReached);
        Assert.That(reached.Message, Does.StartWith("MaxPendingHandshakes = 64 is reached"));
    }

    // While each client has its place for 20 ms, 64 places take 3,200 clients a second, and 8 take 400. If more come,
    // the system's queue fills.
    [TestCase(64)]
    [TestCase(8)]
    [Long(
        "The attack measures newcomers for seconds, up to three times.",
        "PendingClientsTests, ConnectionLimitTests")]
    public async Task Connects_2500ASecondWithoutEnd_KeepNobodyOut(int places)
    {
        string path = _directory.Combine("few");
        await using var server = new ShmServer(
            $"shm://{path}", new ShmServerOptions { Listen = { MaxPendingHandshakes = places }, LoggerFactory = _log });
        server.Services.Add(new Script().Build());
        await server.StartAsync();

        await new FrontDoorMeter($"shm://{path}").AssertHarmlessAsync(
            (stands, over) => Timeouts.OnThread(() => ConnectWithoutEnd(path, stands, over)));

        Assert.That(
            (await _log.WaitForAsync(LimitReached)).Message,
            Does.StartWith($"MaxPendingHandshakes = {places} is reached"));
    }

    [Test]
    public async Task Stop_WithDescriptorsThatAreSlowToClose_DoesNotWaitForThem()
    {
        await HangingCloses.MakeAsync(() => SendHelloAsync(1));

        long start = Stopwatch.GetTimestamp();
        await _server.StopAsync(TimeSpan.Zero).Bounded();

        // A close that is waited for takes 20 s.
        Assert.That(Stopwatch.GetElapsedTime(start), Is.LessThan(TimeSpan.FromSeconds(10)));
        Assert.That(_directory.FileNames, Is.Empty);
        await HangingCloses.AssertAsync();
        await EndHangingAsync();
    }

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    private static partial long SetUser(long setresuid, int real, int effective, int saved);

    private static byte[] MakeHello() => RawHello.Of(HelloType.Client, s_limits).Encode();

    // A thread of its own, which ends as that user: the system call changes one thread only.
    private static Task OnThreadOfNobody(Action act) => Timeouts.OnThread(() =>
    {
        long result = SetUser(
            RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 117 : 147, -1, NobodysUser, -1);
        Assert.That(result, Is.Zero, Marshal.GetLastPInvokeErrorMessage());
        act();
    });

    private Task AssertHarmlessAsync(Func<Task> attemptAsync) => _meter.AssertHarmlessAsync(async (stands, over) =>
    {
        await HangingCloses.MakeAsync(attemptAsync);
        stands();
        await over;
        await HangingCloses.AssertAsync();
        await EndHangingAsync();
    });

    private Task EndHangingAsync()
    {
        _lingering.Reset();
        return HangingCloses.NoneAsync();
    }

    // A lingering descriptor comes with the first byte of a hello. Unless there are too many, the server closes it when
    // it has the whole hello, so this side's close has come before.
    private async Task SendHelloAsync(int descriptors)
    {
        SafeFileHandle lingering = _lingering.Create();
        Socket socket = Connect();
        byte[] hello = MakeHello();
        Task closed = Pass(
            lingering, () => RawDescriptorSender.TrySendMany(socket, hello.AsSpan(0, 1), lingering, descriptors));
        await Task.WhenAny(closed, Task.Delay(s_mostForOwnClose));
        socket.Send(hello.AsSpan(1), SocketFlags.None, out _);
    }

    // Returns false if the kernel refuses it.
    private async Task<bool> TryPassAfterHandshakeAsync()
    {
        SafeFileHandle lingering = _lingering.Create();
        using RawPeer peer = await RawPeer.ConnectAsync(SocketPath);
        bool isPassed = false;
        _ = Pass(lingering, () =>
        {
            isPassed = RawDescriptorSender.TrySendMany(peer.Socket, MakeHello(), lingering, 1);
            int error = isPassed ? 0 : Marshal.GetLastPInvokeError();
            Assert.That(error, Is.EqualTo(isPassed ? 0 : NotPermitted));
        });
        return isPassed;
    }

    // The last close of a descriptor is the one that waits, so this side's close has to come before the server's. A
    // thread stands ready for it; if it comes too late, it is this thread that waits.
    private Task Pass(SafeFileHandle lingering, Action pass)
    {
        bool isPassed = false;
        using var ready = new ManualResetEventSlim();
        Task closing = Timeouts.OnThread(() =>
        {
            ready.Set();
            var spin = default(SpinWait);
            while (!Volatile.Read(ref isPassed))
            {
                spin.SpinOnce(sleep1Threshold: -1);
            }

            lingering.Dispose();
        });
        _closing.Add(closing);
        ready.Wait(Timeouts.Wait);
        try
        {
            pass();
        }
        finally
        {
            Volatile.Write(ref isPassed, true);
        }

        return closing;
    }

    private Socket Connect()
    {
        Socket socket = UnixSockets.Connect(SocketPath);
        lock (_sockets)
        {
            _sockets.Add(socket);
        }

        return socket;
    }

    // The oldest sockets are closed, because a process has only so many. The attack stands when places were taken.
    private static void ConnectWithoutEnd(string path, Action stands, Task over)
    {
        const int PerSecond = 2500;
        const int MostOpen = 700;
        const string Option = nameof(ShmListenOptions.MaxPendingHandshakes);
        long before = LimitEvents.CountOf(Option);
        var open = new Queue<Socket>();
        long begun = Stopwatch.GetTimestamp();
        for (long made = 0; !over.IsCompleted; Thread.Sleep(1))
        {
            for (double due = Stopwatch.GetElapsedTime(begun).TotalSeconds * PerSecond; made < due; made++)
            {
                Socket socket = UnixSockets.New();
                socket.Blocking = false;
                open.Enqueue(socket);
                try
                {
                    socket.Connect(new UnixDomainSocketEndPoint(path));
                }
                catch (SocketException exception) when (exception.SocketErrorCode == SocketError.WouldBlock)
                {
                    // The queue is full.
                }

                if (open.Count > MostOpen)
                {
                    open.Dequeue().Dispose();
                }
            }

            if (LimitEvents.CountOf(Option) > before)
            {
                stands();
            }
        }

        foreach (Socket socket in open)
        {
            socket.Dispose();
        }
    }

    private Task ConnectAsync() => Timeouts.OnThread(() => { Connect(); });
}
