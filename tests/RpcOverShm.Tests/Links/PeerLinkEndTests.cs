using System.Net;
using System.Net.Sockets;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Rings;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Links;

/// <summary>The peer's end as a link finds it, and a user's logger that blocks meanwhile.</summary>
public class PeerLinkEndTests
{
    private readonly LinkPair _links = new();
    private int _events;

    private LogGuard Logger => _links.Logger;

    private PeerLink Link => _links.Client;

    [TearDown]
    public void Close() => _links.Dispose();

    [Test, LinuxOnly("TCP sockets in the place of Unix sockets.")]
    public void Start_WithoutADescriptorOfThePeersProcess_SaysSoAndGoesOn()
    {
        // TCP knows no processes.
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        socket.Connect(listener.LocalEndPoint!);
        using Socket other = listener.Accept();
        PeerLink link = _links.LinkOver(new SocketWire(socket), new PeerIdentity(1, 0, 0));

        link.Start(new WatchedLink(link), OnEvent);
        Assert.That(() => Logger.Entries.Count(entry => entry.Id == 115), Is.EqualTo(1).After(20_000, 5));
        Assert.That(link.IsPeerGone, Is.False);
        other.Dispose();

        Assert.That(() => link.IsPeerGone, Is.True.After(20_000, 5));
        link.Close(new CloseReason(CloseKind.Local, "over"));
    }

    // The close has told nobody, because the link did not know its owner yet.
    [Test]
    public void Start_OfALinkThatIsClosedAlready_TellsItsOwner()
    {
        Link.Close(new CloseReason(CloseKind.Local, "over"));

        Link.Start(new WatchedLink(Link), OnEvent);

        Assert.That(Volatile.Read(ref _events), Is.Positive);
    }

    [Test]
    public void SealIfPeerGone_AfterThePeersEnd_ReadsWhatItHadPublishedOnly()
    {
        WriteByServer(1);
        Assert.That(Link.SealIfPeerGone(), Is.False);
        WriteByServer(2);
        _links.Wires.ServerWire.ShutDown();
        Link.OnSafetyTimeout(isLostWakeup: false);

        Assert.That(Link.SealIfPeerGone());
        WriteByServer(3);
        Assert.That(Link.SealIfPeerGone());

        Assert.That(Link.Reader.TryRead(out RecordHeader first, out _));
        Assert.That(first.StreamId, Is.EqualTo(1));
        Link.Reader.Release();
        Assert.That(Link.Reader.TryRead(out RecordHeader second, out _));
        Assert.That(second.StreamId, Is.EqualTo(2));
        Link.Reader.Release();
        Assert.That(Link.Reader.TryRead(out _, out _), Is.False);
    }

    [Test]
    public async Task Close_WithALoggerThatBlocks_ReturnsAndTellsTheOthers()
    {
        // Not disposed: the close of the other end, after the test, logs as well.
        var mayLog = new ManualResetEventSlim();
        Link.Start(new WatchedLink(Link), OnEvent);
        Logger.OnEntry = _ => mayLog.Wait(Timeouts.Wait);

        await Task.Run(() =>
        {
            Link.OnSafetyTimeout(isLostWakeup: true);
            Link.Close(new CloseReason(CloseKind.PeerLost, "over"));
        }).Bounded();

        Assert.That(Volatile.Read(ref _events), Is.Positive);
        Assert.That(() => _links.Wires.ServerWire.Receive(new byte[1], []), Is.Zero.After(20_000, 1));
        mayLog.Set();
        await Logger.WaitForAsync(102);
    }

    private void WriteByServer(uint stream)
    {
        Assert.That(_links.Server.Writer.TryClaim(0, isControl: false, out RingClaim claim));
        _links.Server.Writer.Commit(claim, new RecordHeader(0, 1, 0, 0, stream, 0));
        _links.Server.Writer.Publish();
    }

    private void OnEvent() => Interlocked.Increment(ref _events);
}
