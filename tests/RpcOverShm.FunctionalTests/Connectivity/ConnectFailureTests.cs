using System.ComponentModel;
using System.Net.Sockets;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>Addresses without a server, with a foreign program, or in a directory that is refused.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[Parallelizable]
internal sealed class ConnectFailureTests() : RigFixture(RigKind.Shm)
{
    private readonly TestDirectory _directory = new();

    [TearDown]
    public void DeleteDirectory() => _directory.Dispose();

    [Test]
    public async Task NobodyThere_IsUnavailableAtOnce([Values] bool isBlocking)
    {
        await using ShmChannel channel = Open("nobody");
        var client = new ScriptClient(channel.CreateCallInvoker());

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty))
            : await FailureOf(client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        string advice = OperatingSystem.IsWindows()
            ? "there is no such pipe. Start the server first, as the same user."
            : "there is no such socket. Start the server first. RuntimeDirectory is set here: it must be the same on "
                + "both sides. No server runs in this directory.";
        Assert.That(
            failure.Status.Detail,
            Is.EqualTo(
                $"Error starting gRPC call. No server listens at '{_directory.PlaceOf("nobody")}' "
                + $"({_directory.AddressOf("nobody")}): {advice}"));
        Assert.That(
            failure.Message,
            Is.EqualTo(
                $"Status(StatusCode=\"Unavailable\", Detail=\"{failure.Status.Detail}\", "
                + "DebugException=\"RpcOverShm.ShmTransportException: NotListening, as the detail says.\")"));
        var error = (ShmTransportException)failure.Status.DebugException!;
        Assert.That(error.Error, Is.EqualTo(ShmTransportError.NotListening));
        Assert.That(
            error.InnerException,
            OperatingSystem.IsWindows() ? Is.TypeOf<Win32Exception>() : Is.TypeOf<SocketException>(),
            "The chain stays.");
    }

    [Test]
    [LinuxOnly("There are no names of pipes to list.")]
    public async Task NobodyThere_WhereOthersAre_NamesThem()
    {
        await using ShmServer news = MakeServer("news");
        await using ShmServer orders = MakeServer("acme/orders");
        await news.StartAsync();
        await orders.StartAsync();
        await File.WriteAllTextAsync(_directory.Combine("not a\nname.sock"), "");
        await using ShmChannel channel = Open("nobody");

        RpcException failure = await FailureAtAsync(channel);

        Assert.That(failure.Status.Detail, Does.EndWith("Names in this directory: acme/orders, news."));
    }

    [Test]
    public async Task NobodyThere_ThenSomebody_IsFound()
    {
        ShmRig rig = await StartWithoutServerAsync();
        await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        await rig.StartServerAsync(new Script().Build());

        Assert.That(rig.Client.Unary(Payloads.Of("here")).Text(), Is.EqualTo("here"));
    }

    // Other calls keep an attempt under way when the server begins to listen. That attempt is still refused, which must
    // not fail a call that starts afterwards.
    [Test]
    public async Task NobodyThere_WhileOthersCall_ThenSomebody_IsFoundByTheFirstCallAfterwards()
    {
        ShmRig rig = await StartWithoutServerAsync();
        for (int i = 0; i < 50; i++)
        {
            await using ShmChannel channel = rig.OpenChannel();
            var client = new ScriptClient(channel.CreateCallInvoker());
            Task<Payload> others = Task.Run(async () =>
            {
                while (true)
                {
                    try
                    {
                        return await client.UnaryAsync(Payloads.Of("others"));
                    }
                    catch (RpcException exception) when (exception.StatusCode == StatusCode.Unavailable)
                    {
                    }
                }
            });
            await FailureOf(client.UnaryAsync(Payloads.Empty));

            ShmServer server = await rig.StartServerAsync(new Script().Build());
            string text = client.Unary(Payloads.Of("here")).Text();
            await others.Bounded();
            await server.StopAsync(TimeSpan.Zero).Bounded();

            Assert.That(text, Is.EqualTo("here"));
        }
    }

    [Test]
    [LinuxOnly("A pipe is in no directory.")]
    public async Task RegularFile_AtThePath_IsLeftAlone()
    {
        string path = _directory.Combine("file.sock");
        await File.WriteAllTextAsync(path, "precious");
        await using ShmChannel channel = Open("file");
        await using ShmServer server = MakeServer("file");

        RpcException failure = await FailureAtAsync(channel);
        ShmTransportException refusal = Assert.ThrowsAsync<ShmTransportException>(() => server.StartAsync())!;

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(refusal.Error, Is.EqualTo(ShmTransportError.AddressInUse));
        Assert.That(refusal.Message, Does.Contain("no socket"));
        Assert.That(await File.ReadAllTextAsync(path), Is.EqualTo("precious"));
    }

    [Test]
    public async Task SilentListener_AtThePath_TimesOut()
    {
        using var silent = new SilentListener(_directory.PlaceOf("silent"));
        await using var channel = ShmChannel.ForAddress(_directory.AddressOf("silent"), new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = _directory.Option, Timeout = TimeSpan.FromMilliseconds(200) },
        });

        RpcException failure = await FailureAtAsync(channel);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(failure.Status.Detail, Does.Contain("did not answer within 0.2 s"));
    }

    [Test]
    public async Task SilentListener_AtThePath_DoesNotKeepACallBeyondItsDeadline()
    {
        using var silent = new SilentListener(_directory.PlaceOf("silent"));
        await using ShmChannel channel = Open("silent");
        var client = new ScriptClient(channel.CreateCallInvoker());
        var options = new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(200));

        RpcException awaited = await FailureOf(client.UnaryAsync(Payloads.Empty, options));
        RpcException blocking = await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty, options));

        Assert.That(awaited.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(blocking.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    public async Task ForeignListener_AtThePath_IsNamed()
    {
        using var foreign = new SilentListener(
            _directory.PlaceOf("foreign"), "HTTP/1.1 400 Bad Request\r\n\r\n"u8.ToArray());
        await using ShmChannel channel = Open("foreign");
        await using ShmServer server = MakeServer("foreign");

        RpcException failure = await FailureAtAsync(channel);
        ShmTransportException refusal = Assert.ThrowsAsync<ShmTransportException>(() => server.StartAsync())!;

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.Contain("no RpcOverShm server"));
        Assert.That(refusal.Error, Is.EqualTo(ShmTransportError.AddressInUse));
        Assert.That(
            refusal.Message,
            Does.Contain(OperatingSystem.IsWindows() ? "A server of another process" : "Another program"));
    }

    [Test]
    [LinuxOnly("A dead server leaves no pipe.")]
    public async Task StaleSocket_AtThePath_IsReplaced()
    {
        DeadServer.Leave(_directory.Combine("stale.sock"), "99999999\n");
        await using ShmServer server = MakeServer("stale");
        await server.StartAsync();
        await using ShmChannel channel = Open("stale");

        Assert.That(
            new ScriptClient(channel.CreateCallInvoker()).Unary(Payloads.Of("here")).Text(), Is.EqualTo("here"));
    }

    [Test]
    public async Task Channel_ThatMeetsAStreamListener_IsTold()
    {
        await using var listener = new ShmStreamListener(
            _directory.AddressOf("purpose"),
            new ShmStreamListenerOptions { Listen = { RuntimeDirectory = _directory.Option } });
        listener.Start();
        await using ShmChannel channel = Open("purpose");

        RpcException failure = await FailureAtAsync(channel);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(failure.Status.Detail, Does.Contain("A listener for byte streams listens here"));
    }

    [Test]
    public async Task Stream_ThatMeetsAServerOfCalls_IsTold()
    {
        await using ShmServer server = MakeServer("purpose");
        await server.StartAsync();

        var options = new ShmStreamOptions { Connect = { RuntimeDirectory = _directory.Option } };
        ShmTransportException refusal = Assert.ThrowsAsync<ShmTransportException>(
            () => ShmStream.ConnectAsync(_directory.AddressOf("purpose"), options))!;

        Assert.That(refusal.Error, Is.EqualTo(ShmTransportError.PurposeMismatch));
        Assert.That(refusal.Message, Does.Contain("A server of RPC calls listens here"));
    }

    [Test]
    [LinuxOnly("A pipe is in no directory.")]
    public void RuntimeDirectory_OpenToOthers_IsRefused()
    {
        _directory.OpenToOthers();
        ShmServer server = MakeServer("open");

        ShmTransportException refusal = Assert.ThrowsAsync<ShmTransportException>(() => server.StartAsync())!;

        Assert.That(refusal.Error, Is.EqualTo(ShmTransportError.SystemError));
        Assert.That(refusal.Message, Does.Contain("0700"));
        Assert.That(_directory.FileNames, Is.Empty);
    }

    [Test]
    [LinuxOnly("A pipe is in no directory.")]
    public void PathAddress_InADirectoryThatIsNotThere_IsRefused()
    {
        var server = new ShmServer("shm://" + _directory.Combine("missing/x.sock"));

        ShmTransportException refusal = Assert.ThrowsAsync<ShmTransportException>(() => server.StartAsync())!;

        Assert.That(refusal.Error, Is.EqualTo(ShmTransportError.SystemError));
    }

    [Test]
    public async Task PathAddress_AndLongNames_Work()
    {
        string longName = "shm://" + new string('n', 200);
        foreach (string address in new[] { _directory.PathAddressOf("by-path"), longName, "shm://a/b/c.d-e_f" })
        {
            await using var server = new ShmServer(
                address, new ShmServerOptions { Listen = { RuntimeDirectory = _directory.Option } });
            server.Services.Add(new Script().Build());
            await server.StartAsync();
            await using var channel = ShmChannel.ForAddress(
                address, new ShmChannelOptions { Connect = { RuntimeDirectory = _directory.Option } });

            Assert.That(new ScriptClient(channel.CreateCallInvoker()).Unary(Payloads.Of("x")).Text(), Is.EqualTo("x"));
        }

        Assert.That(_directory.FileNames, Is.Empty);
    }

    [Test]
    public async Task ManyClients_AtOnce_AllConnect()
    {
        await using ShmServer server = MakeServer("crowd");
        await server.StartAsync();
        ShmChannel[] channels = [.. Enumerable.Range(0, 200).Select(_ => Open("crowd", Timeouts.Wait))];

        await Task.WhenAll(channels.Select(channel =>
            new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Empty).ResponseAsync)).Bounded();

        foreach (ShmChannel channel in channels)
        {
            await channel.DisposeAsync();
        }
    }

    private static Task<RpcException> FailureAtAsync(ShmChannel channel) =>
        FailureOf(new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Empty));

    private ShmChannel Open(string name, TimeSpan? timeout = null)
    {
        var options = new ShmChannelOptions { Connect = { RuntimeDirectory = _directory.Option } };
        options.Connect.Timeout = timeout ?? options.Connect.Timeout;
        return ShmChannel.ForAddress(_directory.AddressOf(name), options);
    }

    private ShmServer MakeServer(string name)
    {
        var server = new ShmServer(_directory.AddressOf(name), new ShmServerOptions
        {
            Listen = { RuntimeDirectory = _directory.Option },
        });
        server.Services.Add(new Script().Build());
        return server;
    }
}
