using RpcOverShm.Clients;
using RpcOverShm.Connections;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Connections;

namespace RpcOverShm.Tests.Links;

public class ListenerTests : ListenerFixture
{
    [Test]
    public async Task Start_OfAHeldAddress_SaysWhoHoldsIt()
    {
        await using Listener first = Start();

        AssertFails(
            ConnectFailure.AddressInUse,
            OperatingSystem.IsWindows()
                ? "already listens at"
                : $"A server of this process already listens at '{Files.SocketPath}' ({Address.Text}): "
                    + "stop that one first, or take another address.");
        await ConnectAsync();
    }

    [Test]
    public async Task Accept_OfManyClientsAtOnce_ServesAll()
    {
        await using Listener listener = Start();

        await Task.WhenAll(Enumerable.Range(0, 30).Select(_ => ConnectAsync())).Bounded();

        Assert.That(() => Links, Has.Count.EqualTo(60).After(20_000, 5));
    }

    [Test]
    public async Task Accept_WhoseOwnerThrows_GoesOnWithOthers()
    {
        var logger = new LogGuard();
        int connected = 0;
        await using Listener listener = Listener.Start(Address, Settings(logger), link =>
        {
            Links.Enqueue(link);
            if (Interlocked.Increment(ref connected) == 1)
            {
                throw new InvalidOperationException("not this one");
            }
        });

        await ConnectAsync();
        await ConnectAsync();

        Assert.That(
            () => logger.Entries.Select(message => message.Message),
            Has.Some.Contains("not this one").After(20_000, 5));
    }

    [Test]
    public async Task DisposeAsync_Twice_DoesNothingMore()
    {
        Listener listener = Start();

        await listener.DisposeAsync().Bounded();
        await using Listener next = Start();
        await listener.DisposeAsync().Bounded();

        Assert.That(OperatingSystem.IsWindows() || File.Exists(Files.SocketPath));
        await ConnectAsync();
    }

    [Test]
    public async Task DisposeAsync_Afterwards_LinksLiveOn()
    {
        Listener listener = Start();
        PeerLink client = await ConnectAsync();
        Assert.That(() => Links, Has.Count.EqualTo(2).After(20_000, 5));
        await listener.DisposeAsync().Bounded();
        var sender = new RawPeer(client);

        sender.Send(new RawFrame(FrameKind.GoAway));

        PeerLink server = Links.Single(link => link.IsAcceptor);
        Assert.That(new RawPeer(server).Receive().Kind, Is.EqualTo(FrameKind.GoAway));
    }

    [Test]
    public void Start_WithoutATransportForTheSystem_SaysWhereThereIsOne_AndSoDoesAClient()
    {
        ConnectionSettings elsewhere = Settings() with { IsPlatformSupported = false };
        string text = "RpcOverShm works on Linux, on x64 and arm64; this is ";
        using var source = new Subchannel(
            typeof(ShmChannel),
            Address,
            elsewhere,
            static (link, onGoAway) => new Connection(link, SchedulingMode.Adaptive, accept: null, onGoAway),
            new ReconnectBackoff(TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(1)),
            (failure, _) => failure);

        Assert.That(
            () => Listener.Start(Address, elsewhere, _ => { }),
            Throws.TypeOf<PlatformNotSupportedException>().With.Message.StartsWith(text));
        Assert.That(
            () => source.GetAsync(isWaitForReady: true).AsTask().Bounded(),
            Throws.TypeOf<PlatformNotSupportedException>().With.Message.StartsWith(text));
    }

    private void AssertFails(ConnectFailure failure, string why, string because = "") => Assert.That(
        () => Start(),
        Throws.TypeOf<ConnectException>()
            .With.Property(nameof(ConnectException.Failure)).EqualTo(failure)
            .And.Message.Contains(why),
        because);
}
