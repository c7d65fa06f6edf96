using System.Runtime.InteropServices;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Segments;
using RpcOverShm.Tests.Sending;

namespace RpcOverShm.Tests.Links;

/// <summary>The server's half of the handshake, against every kind of client.</summary>
public class ServerHandshakeTests
{
    private readonly SocketPair _sockets = new();
    private readonly LogGuard _logger = new();
    private readonly int _descriptorsBefore = ProcessResources.CountDescriptors("memfd:");
    private readonly int _mappingsBefore = ProcessResources.CountSegmentMappings();

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
        ["size"] = (RefusalReason.BadHello, "it announced 135168", hello => hello with
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
        ["too small"] = ("has 4096 bytes", () => Descriptors.MemoryFile(4096, 7)),
        ["too large"] = ("it announced 69632", () => Descriptors.MemoryFile(4096 + (2 * Hellos.Ring), 7)),
        ["socket"] = ("not a memory file", () => SocketPair.NewSocket().SafeHandle),
    };

    private static IEnumerable<string> BadDescriptorNames => BadDescriptors.Keys;

    [TearDown]
    public void Close() => _sockets.Dispose();

    [Test]
    public async Task ShakeHandsAsync_WithAGoodClient_AnswersAndMakesTheLink()
    {
        Hello hello = Hellos.Client;
        Hellos.Send(_sockets.Client, hello.Encode(), Hellos.GoodDescriptor());

        PeerLink? link = await ShakeHandsAsync();
        using Handshake.ReceivedHello? answer = await ReceiveAnswerAsync();

        Assert.That(link, Is.Not.Null);
        Assert.That(answer!.Hello, Is.EqualTo(hello with { Type = HelloType.Server, Limits = Settings().Limits }));
        Assert.That(answer.Descriptor, Is.Not.Null);
        Assert.That(link!.IsAcceptor);
        Assert.That(link.ConnectionId, Is.EqualTo(hello.ConnectionId));
        Assert.That(link.PeerLimits, Is.EqualTo(hello.Limits));
        Assert.That(link.Identity.ProcessId, Is.EqualTo(Environment.ProcessId));
        new RawPeer(link).Dispose();
    }

    [TestCaseSource(nameof(SpoiltNames))]
    public async Task ShakeHandsAsync_WithABadHello_RefusesAndSaysWhy(string name)
    {
        (RefusalReason reason, string text, Func<Hello, Hello> spoil) = Spoilt[name];
        Hellos.Send(_sockets.Client, spoil(Hellos.Client).Encode(), Hellos.GoodDescriptor());

        await AssertRefusedAsync(reason, text);
    }

    [TestCaseSource(nameof(BadDescriptorNames))]
    public async Task ShakeHandsAsync_WithABadDescriptor_RefusesAndSaysWhy(string name)
    {
        (string text, Func<SafeHandle> make) = BadDescriptors[name];
        Hellos.Send(_sockets.Client, Hellos.Client.Encode(), make());

        await AssertRefusedAsync(RefusalReason.BadHello, text);
    }

    [TestCase(0)]
    [TestCase(2)]
    [TestCase(9)]
    public async Task ShakeHandsAsync_WithAnotherNumberOfDescriptors_Refuses(int count)
    {
        Hellos.SendWith(_sockets.Client, Hellos.Client.Encode(), count);

        await AssertRefusedAsync(RefusalReason.BadHello, "descriptors");
    }

    // All versions share the first 24 bytes. Only the later version knows the rest and its descriptors.
    [TestCase(0, 24)]
    [TestCase(0, 64)]
    [TestCase(2, 64)]
    [TestCase(8, 4096)]
    public async Task ShakeHandsAsync_WithALaterVersion_RefusesThat_WhateverElseCame(int count, int bytes)
    {
        byte[] hello = new byte[bytes];
        (Hellos.Client with { LowestVersion = 9, HighestVersion = 9 }).Encode().AsSpan(0, 24).CopyTo(hello);
        BitConverter.TryWriteBytes(hello.AsSpan(16), bytes);
        Hellos.SendWith(_sockets.Client, hello, count);

        await AssertRefusedAsync(
            RefusalReason.Version,
            "The client speaks protocol version 9, this server, RpcOverShm 0.1.0, speaks version 1. "
            + "Update the server.");
    }

    [Test]
    public async Task ShakeHandsAsync_WithAClientOfAnotherProtocol_Refuses()
    {
        _sockets.Client.Send("PRI * HTTP/2.0"u8);

        await AssertRefusedAsync(RefusalReason.BadHello, "does not speak");
    }

    [Test]
    public async Task ShakeHandsAsync_WithASilentClient_RefusesInTime()
    {
        ConnectionSettings settings = Settings() with { ConnectTimeout = TimeSpan.FromMilliseconds(20) };

        await AssertRefusedAsync(RefusalReason.BadHello, "No hello came in time", settings);
    }

    [Test]
    public async Task ShakeHandsAsync_OfAServerThatStops_SaysSo()
    {
        using var stopping = new CancellationTokenSource();
        Task<PeerLink?> shaking = ServerHandshake.ShakeHandsAsync(_sockets.Server, Settings(), stopping.Token);

        await stopping.CancelAsync();

        Assert.That(await shaking.Bounded(), Is.Null);
        using Handshake.ReceivedHello? refusal = await ReceiveAnswerAsync();
        Assert.That(refusal!.Hello.RefusalReason, Is.EqualTo(RefusalReason.Stopping));
    }

    [Test]
    public async Task ShakeHandsAsync_WithAClientThatLeaves_IsNoWarning()
    {
        _sockets.Client.Dispose();

        Assert.That(await ShakeHandsAsync(), Is.Null);
        Assert.That(
            _logger.Entries.Select(message => message.Level),
            Is.All.EqualTo(Microsoft.Extensions.Logging.LogLevel.Debug));
        AssertNothingIsLeft();
    }

    [Test]
    public async Task ShakeHandsAsync_WithAClientThatLeavesAfterItsHello_MakesALinkThatEnds()
    {
        Hellos.Send(_sockets.Client, Hellos.Client.Encode(), Hellos.GoodDescriptor());
        _sockets.Client.Dispose();

        // The answer goes to a closed socket, or to a socket buffer without a reader.
        PeerLink? link = await ShakeHandsAsync();
        if (link is not null)
        {
            new RawPeer(link).Dispose();
        }

        AssertNothingIsLeft();
    }

    private static ConnectionSettings Settings(LogGuard? logger = null) => LinkPair.Settings(
        ConnectionPurpose.Calls, new PeerLimits(128 << 10, 256 << 10, 7, 1 << 10), logger);

    private Task<PeerLink?> ShakeHandsAsync(ConnectionSettings? settings = null) =>
        ServerHandshake.ShakeHandsAsync(_sockets.Server, settings ?? Settings(_logger), CancellationToken.None)
            .Bounded();

    private Task<Handshake.ReceivedHello?> ReceiveAnswerAsync() =>
        Handshake.ReceiveAsync(_sockets.Client, CancellationToken.None).Bounded();

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

    private async Task AssertRefusedAsync(RefusalReason reason, string text, ConnectionSettings? settings = null)
    {
        Assert.That(await ShakeHandsAsync(settings), Is.Null);
        using Handshake.ReceivedHello? refusal = await ReceiveAnswerAsync();
        Assert.That(refusal!.Hello.Type, Is.EqualTo(HelloType.Refusal));
        Assert.That(refusal.Hello.RefusalReason, Is.EqualTo(reason));
        Assert.That(refusal.Hello.RefusalText, Does.Contain(text));
        Assert.That(await IsClosedAsync(), "The socket is closed.");
        AssertNothingIsLeft();
    }

    private void AssertNothingIsLeft()
    {
        Assert.That(ProcessResources.CountDescriptors("memfd:"), Is.EqualTo(_descriptorsBefore));
        Assert.That(ProcessResources.CountSegmentMappings(), Is.EqualTo(_mappingsBefore));
    }
}
