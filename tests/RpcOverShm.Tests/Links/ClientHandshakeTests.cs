using System.Net.Sockets;
using System.Runtime.InteropServices;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Linux;

namespace RpcOverShm.Tests.Links;

/// <summary>The client's half of the handshake, against every kind of server.</summary>
[LinuxOnly("Servers that write raw bytes and descriptors to a socket. PipeWireTests has the like of pipes.")]
public partial class ClientHandshakeTests
{
    private const UnixFileMode OpenToAll = (UnixFileMode)0x1FF; // 0777

    private readonly FakeServer _server = new();
    private readonly LeftOvers _leftOvers = new();

    private static Dictionary<string, (string Failure, string Text, Action<Socket, Hello> Answer)> Answers => new()
    {
        ["purpose"] = ("NotThisProtocol", "answer to another hello", Spoilt(hello => hello with
        {
            Purpose = ConnectionPurpose.ByteStream,
        })),
        ["connection"] = (
            "NotThisProtocol",
            "answer to another hello",
            Spoilt(hello => hello with { ConnectionId = Guid.NewGuid() })),
        ["client's hello"] = ("NotThisProtocol", "refused", Spoilt(hello => hello with { Type = HelloType.Client })),
        ["window"] = ("NotThisProtocol", "a call window of 1 bytes", Spoilt(
            hello => hello with { Limits = hello.Limits with { CallWindow = 1 } })),
        ["ring"] = ("NotThisProtocol", "a ring of 5 bytes", Spoilt(hello => hello with
        {
            Limits = hello.Limits with { RingCapacity = 5 },
        })),
        ["features"] = ("NotThisProtocol", "features 0x4", Spoilt(hello => hello with { Features = 4 })),
        ["size"] = ("SystemError", "it announced", Spoilt(hello => hello with
        {
            Limits = hello.Limits with { RingCapacity = 128 << 10 },
        })),
        ["no memory file"] = (
            "SystemError",
            "not a memory file",
            (socket, hello) => Hellos.Send(socket, AnswerTo(hello).Encode(), Descriptors.Pipe())),
        ["another protocol"] = (
            "NotThisProtocol", "no RpcOverShm server", (socket, _) => socket.Send("HTTP/1.1 400 Bad Request\r\n"u8)),
        ["close at once"] = ("Refused", "closed the connection without an answer", (socket, _) => socket.Dispose()),
        ["close in the middle"] = ("NotThisProtocol", "closed after 10 bytes", SendTenBytesAndClose),
    };

    private static IEnumerable<string> AnswerNames => Answers.Keys;

    [TearDown]
    public void Close() => _server.Dispose();

    [Test]
    public async Task ConnectAsync_ToAGoodServer_MakesTheLink()
    {
        Task<PeerLink> connecting = ConnectAsync();
        using Socket socket = await _server.AcceptAsync();
        using Handshake.ReceivedHello? hello = await RawHandshake.ReceiveAsync(socket, default).Bounded();
        Hellos.Send(socket, AnswerTo(hello!.Hello).Encode(), Hellos.GoodDescriptor());

        PeerLink link = await connecting.Bounded();

        Assert.That(hello.Hello.Type, Is.EqualTo(HelloType.Client));
        Assert.That(hello.Hello.ConnectionId, Is.EqualTo(link.ConnectionId).And.Not.EqualTo(Guid.Empty));
        Assert.That(hello.Hello.Limits, Is.EqualTo(Settings().Limits));
        Assert.That(link.PeerLimits, Is.EqualTo(Hellos.Limits));
        Assert.That(link.IsAcceptor, Is.False);
        Assert.That(link.Identity.ProcessId, Is.EqualTo(Environment.ProcessId));
        new RawPeer(link).Dispose();
    }

    [TestCaseSource(nameof(AnswerNames))]
    public async Task ConnectAsync_ToAServerWithABadAnswer_SaysWhatIsWrong(string name)
    {
        (string failure, string text, Action<Socket, Hello> answer) = Answers[name];

        await AssertFailsAsync(failure, text, answer);
    }

    [TestCase(1, "VersionMismatch")]
    [TestCase(2, "PurposeMismatch")]
    [TestCase(3, "Refused")]
    [TestCase(4, "Refused")]
    [TestCase(5, "Refused")]
    [TestCase(6, "AccessDenied")]
    [TestCase(8, "Refused")]
    [TestCase(99, "Refused")]
    public async Task ConnectAsync_ToAServerThatRefuses_TellsItsReason(int reason, string failure)
    {
        await AssertFailsAsync(
            failure,
            "refused: not you",
            (socket, _) => RawHandshake.TrySendRefusal(socket, default, (RefusalReason)reason, "not you"));
    }

    [Test]
    public async Task ConnectAsync_ToAServerWhoseReasonForgesALog_EscapesAndCutsIt()
    {
        string forged = "no\n[error] \u001B[31m" + new string('x', 3000);

        await AssertFailsAsync(
            "Refused",
            $@"refused: no\u000A[error] \u001B[31m{new string('x', 500 - 16)}...",
            (socket, _) => RawHandshake.TrySendRefusal(socket, default, RefusalReason.Stopping, forged));
    }

    [TestCase(64 << 10, true)]
    [TestCase(32 << 10, false)]
    public async Task ConnectAsync_ToAServerWithALargerRingThanAllowed_NamesTheOption(long limit, bool isTaken)
    {
        var logger = new LogGuard();
        ConnectionSettings settings = Settings() with { MaxPeerRingCapacity = limit, Logger = logger };
        Task<PeerLink> connecting = ClientHandshake.ConnectAsync(_server.Address, settings, CancellationToken.None);
        using Socket socket = await _server.AcceptAsync();
        using Handshake.ReceivedHello? hello = await RawHandshake.ReceiveAsync(socket, default).Bounded();
        Hellos.Send(socket, AnswerTo(hello!.Hello).Encode(), Hellos.GoodDescriptor());
        if (isTaken)
        {
            new RawPeer(await connecting.Bounded()).Dispose();
            return;
        }

        ConnectException exception = await FailAsync(connecting);
        Assert.That(exception.Failure, Is.EqualTo(ConnectFailure.Refused));
        Assert.That(exception.Message, Does.EndWith(
            $"The server's ring of 65536 bytes exceeds the {limit} that Ring.MaxPeerCapacity of the client allows. "
            + "Lower Ring.Capacity of the server, or raise Ring.MaxPeerCapacity."));
        await logger.WaitForAsync(109);
        hello.Dispose();
        _leftOvers.AssertNone();
    }

    [TestCase(0)]
    [TestCase(2)]
    public async Task ConnectAsync_ToAServerThatPassesAnotherNumberOfDescriptors_IsRefused(int count)
    {
        await AssertFailsAsync(
            "NotThisProtocol",
            $"{count} descriptors came",
            (socket, hello) => Hellos.SendWith(socket, AnswerTo(hello).Encode(), count));
    }

    [TestCase(0)]
    [TestCase(1)]
    [TestCase(2)]
    public async Task ConnectAsync_ToAServerOfALaterVersion_SaysThat_WhateverElseCame(int count)
    {
        await AssertFailsAsync(
            "VersionMismatch",
            "Update the client.",
            (socket, hello) => Hellos.SendWith(
                socket, (AnswerTo(hello) with { LowestVersion = 2, HighestVersion = 2 }).Encode(), count));
    }

    [Test]
    public void ConnectAsync_ByAUserWhoMayNot_SaysWhoMay([Values] bool isDirectoryOpen)
    {
        using var directory = new TestDirectory();
        using Socket bound = UnixSockets.Listen(directory.Combine("s"), backlog: 1);
        if (isDirectoryOpen)
        {
            File.SetUnixFileMode(directory.Path, OpenToAll);
        }

        ConnectException exception = FailAs(65534, Addresses.Parse($"shm://{directory.Combine("s")}", null));

        Assert.That(exception.Failure, Is.EqualTo(ConnectFailure.AccessDenied));
        string name = $"'{directory.Combine("s")}' (shm://{directory.Combine("s")})";
        Assert.That(exception.Message, Is.EqualTo(
            isDirectoryOpen
                ? $"The socket of a server is at {name}, but it belongs to user 0 and user 65534 may not open it: run "
                    + "client and server as the same user, or set AllowedUsers or AllowedGroup of the server."
                : $"User 65534 may not look for a server at {name}: a directory of this path is closed to it. Run "
                    + "client and server as the same user, or put the socket where both users may search."));
    }

    [Test]
    public async Task ConnectAsync_ToADirectoryOfAnotherUser_TellsNoNames()
    {
        using var directory = new TestDirectory();
        await File.WriteAllTextAsync(directory.Combine("forged.sock"), "");
        File.SetUnixFileMode(directory.Path, OpenToAll);

        ConnectException exception = FailAs(65534, Addresses.Parse("shm://nobody", directory.Path));

        Assert.That(exception.Failure, Is.EqualTo(ConnectFailure.NotListening));
        Assert.That(
            exception.Message,
            Does.EndWith(" both sides. This directory belongs to another user, or others may write in it."));
        Assert.That(NativeCalls.ChangeOwner(directory.Path, 65534, 65534), Is.Zero);
        File.SetUnixFileMode(directory.Path, (UnixFileMode)0x1ED);
        exception = FailAs(65534, Addresses.Parse("shm://nobody", directory.Path));
        Assert.That(exception.Message, Does.EndWith("No server runs in this directory."), "Others may search it.");
    }

    [Test]
    public async Task ConnectAsync_ByAUserWhomTheServerRefuses_LearnsThatAndNothingElse()
    {
        using var directory = new TestDirectory();
        File.SetUnixFileMode(directory.Path, OpenToAll);
        var address = Addresses.Parse($"shm://{directory.Combine("s")}", null);
        var logger = new LogGuard();
        await using Listener listener = Listener.Start(address, Settings() with { Logger = logger }, _ => { });
        File.SetUnixFileMode(address.SocketPath, OpenToAll);

        ConnectException exception = FailAs(65534, address);

        Assert.That(exception.Failure, Is.EqualTo(ConnectFailure.AccessDenied));
        Assert.That(exception.Message, Is.EqualTo(
            $"The server at '{address.SocketPath}' ({address.Text}) refused: Access denied. The options AllowedUsers "
            + "and AllowedGroup of the server say who may connect."));
        const int ClientRefused = 4;
        Assert.That(
            (await logger.WaitForAsync(ClientRefused)).Message,
            Is.EqualTo(
                $"A client was refused: The client is process {Environment.ProcessId}, user 65534, and this server "
                + "takes clients of user 0 and of root only."));
    }

    [Test]
    public async Task ConnectAsync_ToAServerThatDiesBeforeItReadsTheHello_SaysSo()
    {
        // If data is unread at the close, the socket reports an error instead of its end.
        Task<PeerLink> connecting = ConnectAsync();
        using (Socket socket = await _server.AcceptAsync())
        {
            await socket.ReceiveAsync(Memory<byte>.Empty, CancellationToken.None).Bounded();
        }

        ConnectException exception = await FailAsync(connecting);
        Assert.That(exception.Failure, Is.EqualTo(ConnectFailure.Refused));
        Assert.That(exception.Message, Does.Contain("closed in the handshake"));
    }

    [Test]
    public async Task ConnectAsync_ToASilentServer_GivesUpInTime()
    {
        ConnectionSettings settings = Settings() with { ConnectTimeout = TimeSpan.FromMilliseconds(30) };

        ConnectException exception = await FailAsync(
            ClientHandshake.ConnectAsync(_server.Address, settings, CancellationToken.None));

        Assert.That(exception.Failure, Is.EqualTo(ConnectFailure.TimedOut));
        Assert.That(exception.Message, Does.Contain("within 0.03 s").And.Contain(_server.Address.SocketPath));
        _leftOvers.AssertNone();
    }

    [Test]
    public async Task ConnectAsync_WhenCancelled_Throws()
    {
        using var cancel = new CancellationTokenSource();
        Task<PeerLink> connecting = ClientHandshake.ConnectAsync(_server.Address, Settings(), cancel.Token);

        await cancel.CancelAsync();

        Assert.That(async () => await connecting.Bounded(), Throws.InstanceOf<OperationCanceledException>());
        _leftOvers.AssertNone();
    }

    [Test]
    public async Task ConnectAsync_WhereNothingStands_SaysWhichFileWasTried()
    {
        var address = Addresses.Parse("shm:///nowhere/at/all", null);

        ConnectException exception = await FailAsync(ConnectAsync(address));

        Assert.That(exception.Failure, Is.EqualTo(ConnectFailure.NotListening));
        Assert.That(exception.Message, Is.EqualTo(
            "No server listens at '/nowhere/at/all' (shm:///nowhere/at/all): there is no such socket. Start the server "
            + "first, with the same path."));
    }

    [Test]
    public async Task ConnectAsync_ToASocketThatNobodyListensOn_SaysSo()
    {
        using var directory = new TestDirectory();
        using Socket bound = UnixSockets.New();
        bound.Bind(new UnixDomainSocketEndPoint(directory.Combine("s")));
        var address = Addresses.Parse($"shm://{directory.Combine("s")}", null);

        ConnectException exception = await FailAsync(ConnectAsync(address));

        Assert.That(exception.Failure, Is.EqualTo(ConnectFailure.NotListening));
        Assert.That(exception.Message, Does.EndWith(
            "nobody listens on this file any more. Start the server again; it replaces what a dead one has left."));
    }

    [Test]
    public async Task ConnectAsync_ToAServerWithAFullQueue_TriesAgainUntilThereIsRoom()
    {
        using var server = new FakeServer(backlog: 1);
        List<Socket> waiting = server.FillQueue();

        Task<PeerLink> connecting = ConnectAsync(server.Address);
        for (int i = 0; i < waiting.Count - 1; i++)
        {
            (await server.AcceptAsync()).Dispose();
        }

        using Socket accepted = await server.AcceptAsync();
        accepted.Dispose();
        ConnectException exception = await FailAsync(connecting);
        Assert.That(exception.Failure, Is.EqualTo(ConnectFailure.Refused), "It came through, and was closed.");
        waiting.ForEach(socket => socket.Dispose());
    }

    private static ConnectionSettings Settings() =>
        LinkPair.Settings(ConnectionPurpose.Calls, new PeerLimits(128 << 10, 256 << 10, 0, 1 << 10));

    private static Hello AnswerTo(Hello hello) =>
        hello with { Type = HelloType.Server, Limits = Hellos.Limits };

    private static async Task<ConnectException> FailAsync(Task<PeerLink> connecting)
    {
        try
        {
            await connecting.Bounded();
        }
        catch (ConnectException exception)
        {
            return exception;
        }

        throw new AssertionException("The connection came about.");
    }

    /// <summary>Connects on a thread without root's rights; the system call changes this thread only.</summary>
    private static ConnectException FailAs(int user, SocketAddress address)
    {
        Assume.That(LinuxNative.GetEffectiveUserId(), Is.Zero, "Only root can be somebody else.");
        Task<PeerLink>? connecting = null;
        var thread = new Thread(() =>
        {
            SetUser(RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 117 : 147, -1, user, -1);
            connecting = ClientHandshake.ConnectAsync(address, Settings(), CancellationToken.None);
        });
        thread.Start();
        thread.Join();
        return FailAsync(connecting!).GetAwaiter().GetResult();
    }

    [LibraryImport("libc", EntryPoint = "syscall")]
    private static partial long SetUser(long setresuid, int real, int effective, int saved);

    private static void SendTenBytesAndClose(Socket socket, Hello hello)
    {
        socket.Send(AnswerTo(hello).Encode().AsSpan(0, 10));
        socket.Dispose();
    }

    private static Action<Socket, Hello> Spoilt(Func<Hello, Hello> spoil) => (socket, hello) =>
        Hellos.Send(socket, spoil(AnswerTo(hello)).Encode(), Hellos.GoodDescriptor());

    private Task<PeerLink> ConnectAsync(SocketAddress? address = null) =>
        ClientHandshake.ConnectAsync(address ?? _server.Address, Settings(), CancellationToken.None);

    private async Task AssertFailsAsync(string failure, string text, Action<Socket, Hello> answer)
    {
        Task<PeerLink> connecting = ConnectAsync();
        using (Socket socket = await _server.AcceptAsync())
        {
            using Handshake.ReceivedHello? hello =
                await RawHandshake.ReceiveAsync(socket, CancellationToken.None).Bounded();
            answer(socket, hello!.Hello);
            ConnectException exception = await FailAsync(connecting);
            Assert.That(exception.Failure.ToString(), Is.EqualTo(failure), exception.Message);
            Assert.That(exception.Message, Does.Contain(text).And.Contain(_server.Address.SocketPath));
        }

        _leftOvers.AssertNone();
    }
}
