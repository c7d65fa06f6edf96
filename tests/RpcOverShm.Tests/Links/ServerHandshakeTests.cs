using System.Net.Sockets;
using System.Runtime.InteropServices;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Linux;

namespace RpcOverShm.Tests.Links;

/// <summary>The server's half of the handshake, against every kind of client.</summary>
[LinuxOnly("Clients that write raw bytes and descriptors to a socket. PipeWireTests has the like of pipes.")]
public class ServerHandshakeTests
{
    private const int ClientLeft = 3;
    private const int HandshakeBroken = 5;

    private readonly TestDirectory _directory = new();
    private readonly LogGuard _logger = new();
    private readonly TaskCompletionSource<PeerLink> _linked = new();
    private Listener _listener = null!;
    private Socket _client = null!;
    private readonly LeftOvers _leftOvers = new();

    private static Dictionary<string, (RefusalReason Reason, string Text, Func<Hello, Hello> Spoil)> Spoilt => new()
    {
        ["type"] = (RefusalReason.BadHello, "A client's hello", hello => hello with { Type = HelloType.Server }),
        ["purpose"] = (RefusalReason.Purpose, "A server of RPC calls listens here; the client wants a byte stream.",
            hello => hello with { Purpose = ConnectionPurpose.ByteStream }),
        ["unknown purpose"] = (
            RefusalReason.Purpose, "purpose 77", hello => hello with { Purpose = (ConnectionPurpose)77 }),
        ["ring"] = (RefusalReason.BadHello, "a ring of 65537 bytes", hello => hello with
        {
            Limits = hello.Limits with { RingCapacity = 65537 },
        }),
        ["window"] = (RefusalReason.BadHello, "a call window of 5 bytes", hello => hello with
        {
            Limits = hello.Limits with { CallWindow = 5 },
        }),
        ["calls"] = (RefusalReason.BadHello, "65537 calls", hello => hello with
        {
            Limits = hello.Limits with { MaxCalls = 65537 },
        }),
        ["metadata"] = (RefusalReason.BadHello, "of metadata", hello => hello with
        {
            Limits = hello.Limits with { MaxMetadataBytes = uint.MaxValue },
        }),
        ["size"] = (RefusalReason.BadHello, "it announced 200704", hello => hello with
        {
            Limits = hello.Limits with { RingCapacity = 128 << 10 },
        }),
    };

    private static IEnumerable<string> SpoiltNames => Spoilt.Keys;

    private static Dictionary<string, (string Text, Func<SafeHandle> Make)> BadDescriptors => new()
    {
        ["pipe"] = ("not a memory file", Descriptors.Pipe),
        ["ordinary file"] = ("seals", () => Descriptors.OrdinaryFile(4096 + Hellos.Ring)),
        ["unsealed"] = ("carries seals 0x0", () => Descriptors.MemoryFile(4096 + Hellos.Ring, 0)),
        ["may shrink"] = ("carries seals 0x5", () => Descriptors.MemoryFile(4096 + Hellos.Ring, 5)),
        ["too small"] = ("has 4096 bytes", () => Descriptors.MemoryFile(4096, Descriptors.AllRequired)),
        ["too large"] = (
            "it announced 69632", () => Descriptors.MemoryFile(4096 + (2 * Hellos.Ring), Descriptors.AllRequired)),
        ["holes"] = (
            "has holes: of 17 pages from byte 0 on, 1 are there",
            () => Descriptors.MemoryFile(4096 + Hellos.Ring, Descriptors.AllRequired, allocatedBytes: 4096)),
        ["socket"] = ("not a memory file", () => UnixSockets.New().SafeHandle),
    };

    private static IEnumerable<string> BadDescriptorNames => BadDescriptors.Keys;

    [SetUp]
    public void Connect() => ListenWith(Settings(_logger));

    [TearDown]
    public async Task CloseAsync()
    {
        _client.Dispose();
        await _listener.DisposeAsync();
        _directory.Dispose();
    }

    [Test]
    public async Task Answer_ToAGoodClient_AnswersAndMakesTheLink()
    {
        Hello hello = Hellos.Client;
        Hellos.Send(_client, hello.Encode(), Hellos.GoodDescriptor());

        PeerLink link = await _linked.Task.Bounded();
        using Handshake.ReceivedHello? answer = await ReceiveAnswerAsync();

        Assert.That(answer!.Hello, Is.EqualTo(hello with { Type = HelloType.Server, Limits = Settings().Limits }));
        Assert.That(answer.Handles, Has.Count.EqualTo(1));
        Assert.That(link.IsAcceptor);
        Assert.That(link.ConnectionId, Is.EqualTo(hello.ConnectionId));
        Assert.That(link.PeerLimits, Is.EqualTo(hello.Limits));
        Assert.That(link.Identity.ProcessId, Is.EqualTo(Environment.ProcessId));
        new RawPeer(link).Dispose();
    }

    [TestCaseSource(nameof(SpoiltNames))]
    public async Task Answer_ToABadHello_RefusesAndSaysWhy(string name)
    {
        (RefusalReason reason, string text, Func<Hello, Hello> spoil) = Spoilt[name];
        Hellos.Send(_client, spoil(Hellos.Client).Encode(), Hellos.GoodDescriptor());

        await AssertRefusedAsync(reason, text);
    }

    [TestCaseSource(nameof(BadDescriptorNames))]
    public async Task Answer_ToABadDescriptor_RefusesAndSaysWhy(string name)
    {
        (string text, Func<SafeHandle> make) = BadDescriptors[name];
        Hellos.Send(_client, Hellos.Client.Encode(), make());

        await AssertRefusedAsync(RefusalReason.BadHello, text);
    }

    [TestCase(64 << 10, true)]
    [TestCase(Hellos.Ring - 1, false)]
    [TestCase(32 << 10, false)]
    public async Task Answer_WithARingAboveTheLimit_RefusesAndNamesTheOption(long limit, bool isTaken)
    {
        await _listener.DisposeAsync();
        ListenWith(Settings(_logger) with { MaxPeerRingCapacity = limit });
        Hellos.Send(_client, Hellos.Client.Encode(), Hellos.GoodDescriptor());
        if (isTaken)
        {
            new RawPeer(await _linked.Task.Bounded()).Dispose();
            return;
        }

        await AssertRefusedAsync(
            RefusalReason.NoResources,
            $"The client's ring of 65536 bytes exceeds the {limit} that Ring.MaxPeerCapacity of the server allows. "
            + "Lower Ring.Capacity of the client, or raise Ring.MaxPeerCapacity.");
        Assert.That(
            (await _logger.WaitForAsync(109)).Message,
            Is.EqualTo($"Ring.MaxPeerCapacity = {limit} is reached: a client with a larger ring was refused."));
    }

    [TestCase(0)]
    [TestCase(2)]
    [TestCase(9)]
    public async Task Answer_ToAnotherNumberOfDescriptors_Refuses(int count)
    {
        Hellos.SendWith(_client, Hellos.Client.Encode(), count);

        await AssertRefusedAsync(RefusalReason.BadHello, "descriptors");
    }

    // All versions share the first 24 bytes. Only the later version knows the rest and its descriptors.
    [TestCase(0, 24)]
    [TestCase(0, 64)]
    [TestCase(2, 64)]
    [TestCase(8, 4096)]
    public async Task Answer_ToALaterVersion_RefusesThat_WhateverElseCame(int count, int bytes)
    {
        byte[] hello = new byte[bytes];
        (Hellos.Client with { LowestVersion = 9, HighestVersion = 9 }).Encode().AsSpan(0, 24).CopyTo(hello);
        BitConverter.TryWriteBytes(hello.AsSpan(16), bytes);
        Hellos.SendWith(_client, hello, count);

        await AssertRefusedAsync(
            RefusalReason.Version,
            $"The client speaks protocol version 9, this server, {ProtocolVersion.Package}, speaks version 1. "
            + "Update the server.");
    }

    [Test]
    public async Task Answer_ToAClientOfAnotherProtocol_Refuses()
    {
        _client.Send("PRI * HTTP/2.0"u8);

        await AssertRefusedAsync(RefusalReason.BadHello, "does not speak");
    }

    [Test]
    public async Task Answer_ToASilentClient_RefusesInTime()
    {
        await _listener.DisposeAsync();
        ListenWith(Settings(_logger) with { ConnectTimeout = TimeSpan.FromMilliseconds(20) });

        await AssertRefusedAsync(RefusalReason.BadHello, "No hello came in time");
    }

    [Test]
    public async Task Answer_OfAServerThatStops_SaysSo()
    {
        await WaitUntilAcceptedAsync();

        await _listener.DisposeAsync().Bounded();

        await AssertRefusedAsync(RefusalReason.Stopping, "stopping");
    }

    [Test]
    public async Task Answer_ToAClientThatLeaves_IsNoWarning()
    {
        await WaitUntilAcceptedAsync();
        _client.Dispose();

        LogEntry entry = await _logger.WaitForAsync(ClientLeft);
        Assert.That(entry.Level, Is.EqualTo(Microsoft.Extensions.Logging.LogLevel.Debug));
        _leftOvers.AssertNone();
    }

    [Test]
    public void Answer_ToAClientThatLeavesAfterItsHello_MakesALinkThatEnds()
    {
        Hellos.Send(_client, Hellos.Client.Encode(), Hellos.GoodDescriptor());
        _client.Dispose();

        // The answer goes to a closed socket, or to a socket buffer without a reader.
        Assert.That(
            () => _linked.Task.IsCompleted || _logger.Entries.Any(entry => entry.Id is HandshakeBroken or ClientLeft),
            Is.True.After(20_000, 5));
        if (_linked.Task.IsCompleted)
        {
            new RawPeer(_linked.Task.Result).Dispose();
        }

        _leftOvers.AssertNone();
    }

    private static ConnectionSettings Settings(LogGuard? logger = null) => LinkPair.Settings(
        ConnectionPurpose.Calls, new PeerLimits(128 << 10, 256 << 10, 7, 1 << 10), logger);

    private void ListenWith(ConnectionSettings settings)
    {
        var address = Addresses.Parse("shm://x", _directory.Combine("run"));
        _listener = Listener.Start(address, settings, _linked.SetResult);
        _client?.Dispose();
        _client = UnixSockets.Connect(address.SocketPath);
    }

    // The first byte of a hello is taken only when the doorman has accepted the client.
    private async Task WaitUntilAcceptedAsync()
    {
        using Socket other = UnixSockets.Connect(Path.Combine(_directory.Combine("run"), "x.sock"));
        Hellos.Send(other, Hellos.Client.Encode(), Hellos.GoodDescriptor());
        new RawPeer(await _linked.Task.Bounded()).Dispose();
    }

    private Task<Handshake.ReceivedHello?> ReceiveAnswerAsync() =>
        RawHandshake.ReceiveAsync(_client, CancellationToken.None).Bounded();

    // The socket reports an error if the server has not read everything that the client sent.
    private async Task<bool> IsClosedAsync()
    {
        try
        {
            return await ReceiveAnswerAsync() is null;
        }
        catch (IOException)
        {
            return true;
        }
    }

    private async Task AssertRefusedAsync(RefusalReason reason, string text)
    {
        using Handshake.ReceivedHello? refusal = await ReceiveAnswerAsync();
        Assert.That(refusal!.Hello.Type, Is.EqualTo(HelloType.Refusal));
        Assert.That(refusal.Hello.RefusalReason, Is.EqualTo(reason));
        Assert.That(refusal.Hello.RefusalText, Does.Contain(text));
        Assert.That(await IsClosedAsync(), "The socket is closed.");
        _leftOvers.AssertNone();
    }
}
