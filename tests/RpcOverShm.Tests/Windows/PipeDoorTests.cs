using System.IO.Pipes;
using System.Runtime.Versioning;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>Doors of named pipes: bursts of clients, names that are taken, and the end.</summary>
[WindowsFixture]
[SupportedOSPlatform("windows")]
public class PipeDoorTests
{
    [Test]
    public void Accept_OfMoreClientsThanInstances_TakesAll()
    {
        using var pair = new PipePair();
        (Wire Client, Wire Server)[] wires = [.. Enumerable.Range(0, 60).Select(_ => pair.Connect())];

        foreach ((Wire client, Wire server) in wires)
        {
            client.Dispose();
            server.Dispose();
        }
    }

    [Test]
    public void Listen_AtANameThatIsTaken_Fails()
    {
        using var pair = new PipePair();

        Assert.That(
            () => HostSystem.Current.Listen(pair.Address, AccessPolicy.OwnUserOnly, NullLogger.Instance),
            Throws.TypeOf<ConnectException>()
                .With.Property(nameof(ConnectException.Failure)).EqualTo(ConnectFailure.AddressInUse));
    }

    // The same without a look at who listens: nobody can put a pipe before the server's.
    [Test]
    public void FirstInstance_OfANameThatIsTaken_IsRefused()
    {
        Assume.That(ProcessResources.IsWine, Is.False, "Wine lets each process make a first instance.");
        using var pair = new PipePair();

        Assert.That(
            () => new PipeListening(pair.Address.Place, AccessDescriptor.OfNobody),
            Throws.InstanceOf<System.ComponentModel.Win32Exception>());
    }

    // Of a foreign program. Wine gives no owner to such a pipe.
    [Test]
    public async Task Pipe_ThatNamesNoOwner_IsOfItsUserOrOfNobody()
    {
        RendezvousAddress address = PipePair.NewAddress();
        await using var foreign = new NamedPipeServerStream(
            address.Place[@"\\.\pipe\".Length..], PipeDirection.InOut, 1);
        using Wire client = await PipePair.ConnectAsync(address);

        if (ProcessResources.IsWine)
        {
            Assert.That(() => client.Peer, Throws.TypeOf<IOException>().With.Message.Contains("has no owner"));
        }
        else
        {
            Assert.That(client.Peer.ProcessId, Is.EqualTo(Environment.ProcessId));
        }
    }

    [Test]
    public void Listen_AfterTheEndOfAServer_Succeeds()
    {
        RendezvousAddress address = PipePair.NewAddress();
        for (int i = 0; i < 5; i++)
        {
            Door door = HostSystem.Current.Listen(address, AccessPolicy.OwnUserOnly, NullLogger.Instance);
            Assert.That(door.Address.Place, Is.EqualTo(address.Place));
            door.EndListening();
            door.Remove();
        }
    }

    [Test]
    public void Connect_WithoutAServer_FailsAtOnce() => Assert.That(
        static async () => await PipePair.ConnectAsync(PipePair.NewAddress()).Bounded(),
        Throws.TypeOf<ConnectException>()
            .With.Property(nameof(ConnectException.Failure)).EqualTo(ConnectFailure.NotListening));

    [Test]
    public void Connect_ToAServerThatIsBusy_WaitsForTheToken()
    {
        // Nobody accepts: the clients fill all instances.
        RendezvousAddress address = PipePair.NewAddress();
        Door door = HostSystem.Current.Listen(address, AccessPolicy.OwnUserOnly, NullLogger.Instance);
        var clients = new List<Wire>();
        using var timeout = new CancellationTokenSource(TimeSpan.FromSeconds(1));

        Assert.That(
            async () =>
            {
                while (true)
                {
                    clients.Add(await PipePair.ConnectAsync(address, timeout.Token).Bounded());
                }
            },
            Throws.InstanceOf<OperationCanceledException>());
        Assert.That(clients, Is.Not.Empty);
        clients.ForEach(static client => client.Dispose());
        door.EndListening();
        door.Remove();
    }

    [Test]
    public void EndListening_WithClients_LeavesThem()
    {
        using var pair = new PipePair();

        pair.Door.EndListening();

        pair.Client.Send([5], []);
        Assert.That(PipePair.Receive(pair.Server, 1), Is.EqualTo(new byte[] { 5 }));
    }
}
