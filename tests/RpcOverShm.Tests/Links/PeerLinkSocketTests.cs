using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Tests.Linux;

namespace RpcOverShm.Tests.Links;

/// <summary>Doorbells and last words on a link's socket, and bytes and descriptors that may not come there.</summary>
[LinuxOnly("What a peer writes to a socket, and the descriptors that it passes.")]
public class PeerLinkSocketTests
{
    private readonly LinkPair _links = new(wires: new SocketPair());

    private SocketPair Sockets => (SocketPair)_links.Wires;

    private LogGuard Logger => _links.Logger;

    private PeerLink Link => _links.Client;

    [TearDown]
    public void Close() => _links.Dispose();

    [Test]
    public void Socket_WithALastWord_LogsIt()
    {
        Start();

        RawHandshake.TrySendRefusal(Sockets.Server, default, RefusalReason.Violation, "You did this and that.");
        Sockets.Server.Dispose();

        Assert.That(() => Link.IsPeerGone, Is.True.After(20_000, 5));
        Assert.That(
            () => Logger.Entries.Select(message => message.Message),
            Has.Some.Contains("You did this and that.").After(20_000, 5));
    }

    [Test]
    public void Socket_WithASecondHello_IsAViolation()
    {
        Start();

        Hellos.Send(Sockets.Server, Hellos.Client.Encode(), Hellos.GoodDescriptor());

        AssertViolation("The peer passed a descriptor after the handshake.");
    }

    [Test]
    public void Socket_WithNonsense_IsAViolation()
    {
        Start();

        Sockets.Server.Send("nonsense"u8);

        AssertViolation("does not speak");
    }

    // A receive stops before an urgent byte. What follows it must not be taken for something that came later, when no
    // descriptor can come any more: a plain receive has the kernel close a descriptor, on this side's event loop.
    [Test]
    public void Socket_WithADescriptorBehindAnUrgentByte_IsAViolation()
    {
        const int MsgOob = 1;
        using SafeFileHandle file = Descriptors.MemoryFile(4096, 0);
        byte[] ring = [PeerLink.DoorbellByte];
        RawDescriptorSender.Send(Sockets.Server, ring);
        RawDescriptorSender.Send(Sockets.Server, MsgOob, ring);
        RawDescriptorSender.Send(Sockets.Server, ring, file);

        Start();

        AssertViolation("The peer passed a descriptor after the handshake.");
    }

    [Test]
    public void Socket_WithDescriptorsWithoutEnd_IsAViolationAndClosesThem()
    {
        int before = ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget);
        Start();
        Hellos.SendWith(Sockets.Server, Hellos.Client.Encode(), 20);

        AssertViolation("more than 16 descriptors");
        Assert.That(
            () => ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget),
            Is.LessThanOrEqualTo(before).After(20_000, 5));
    }

    [TestCase(LinuxNative.ErrnoENOBUFS, true)]
    [TestCase(LinuxNative.ErrnoENOMEM, true)]
    [TestCase(LinuxNative.ErrnoEAGAIN, false)]
    public void Doorbell_ThatTheSystemCannotSend_ClosesTheLinkIfThePeerWouldSleepOn(int errno, bool isClosing)
    {
        bool hasFilter = false;
        TestThread.Start("starved", () =>
        {
            hasFilter = SystemCallFilter.TryFailSends(errno);
            Link.WakePeerForData(WakeMethods.Doorbell);
        }).Join();
        Assume.That(hasFilter, "The system lets no thread filter its system calls.");

        Assert.That(Link.CloseReason?.Kind, Is.EqualTo(isClosing ? CloseKind.NoResources : null));
        Assert.That(Sockets.Server.Available, Is.Zero);
    }

    [Test]
    public void Doorbells_ThatThePeerDoesNotRead_TakeLittleMemoryOfTheKernel()
    {
        for (int i = 0; i < 1000; i++)
        {
            Link.WakePeerForData(WakeMethods.Doorbell);
        }

        Assert.That(Sockets.Server.Available, Is.InRange(2, 50));
        Assert.That(Link.IsClosed, Is.False, "The peer has doorbells to read.");
    }

    [Test]
    public async Task Close_BehindUnreadDoorbells_StillTellsThePeerWhy()
    {
        string why = new('y', 4000);
        for (int i = 0; i < 10; i++)
        {
            Link.WakePeerForData(WakeMethods.Doorbell);
        }

        Link.Close(new CloseReason(CloseKind.PeerViolation, why));

        Sockets.Server.Receive(new byte[10]);
        using Handshake.ReceivedHello? said = await ReceiveAsync(Sockets.Server);
        Assert.That(said!.Hello.RefusalText, Is.EqualTo(why));
    }

    private static Task<Handshake.ReceivedHello?> ReceiveAsync(Socket socket) =>
        RawHandshake.ReceiveAsync(socket, CancellationToken.None).Bounded();

    private void Start() => Link.Start(new WatchedLink(Link), () => { });

    private void AssertViolation(string text)
    {
        Assert.That(() => Link.IsClosed, Is.True.After(20_000, 5));
        Assert.That(Link.CloseReason!.Kind, Is.EqualTo(CloseKind.PeerViolation));
        Assert.That(Link.CloseReason.Text, Does.Contain(text));
    }
}
