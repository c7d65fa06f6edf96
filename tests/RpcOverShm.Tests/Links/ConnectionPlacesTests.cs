using RpcOverShm.Links;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Linux;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Links;

public class ConnectionPlacesTests
{
    private const long ManyMappings = 65530;

    [Test]
    public void TryTake_BelowAtAndAboveMaxConnections_IsRefusedAboveAndFreeAfterwards()
    {
        ConnectionPlaces places = Make(all: 2, perProcess: 2);
        Assert.That(places.Take(Client(1)), Is.Null);
        Assert.That(places.Take(Client(1)), Is.Null);

        Assert.That(
            $"{places.Take(Client(2))}",
            Is.EqualTo("The server takes no more clients: there are 2 connections (MaxConnections = 2)."));
        places.GiveBack(Client(1));
        Assert.That(places.Take(Client(2)), Is.Null);
        Assert.That(places.Count, Is.EqualTo(2));
    }

    [Test]
    public void TryTake_BelowAtAndAboveMaxConnectionsPerProcess_LeavesOtherProcessesAlone()
    {
        ConnectionPlaces places = Make(all: 10, perProcess: 2);
        Assert.That(places.Take(Client(1)), Is.Null);
        Assert.That(places.Take(Client(1)), Is.Null);

        Assert.That(places.Take(Client(1)), Is.EqualTo(
            new ReachedLimit("MaxConnectionsPerProcess", 2, "process 1 has 2 connections")));
        Assert.That(
            places.Take(Client(1))!.ToString(),
            Does.EndWith("(MaxConnectionsPerProcess = 2). Use one channel for each server, and dispose channels and "
                + "streams that are not needed."));
        Assert.That(places.Take(Client(2)), Is.Null);
        places.GiveBack(Client(1));
        Assert.That(places.Take(Client(1)), Is.Null);
    }

    [TestCase(4, 2)]
    [TestCase(5, 3)]
    [TestCase(1, 1)]
    [TestCase(null, 8)]
    public void TryTake_OfAProcessWithoutAnOption_IsRefusedAboveHalf(int? all, int expected)
    {
        var places = new ConnectionPlaces(new DoorLimits(1, all), 64, () => int.MaxValue);
        for (int i = 0; i < expected; i++)
        {
            Assert.That(places.Take(Client(1)), Is.Null);
        }

        string name = all == 1 ? "MaxConnections" : "MaxConnectionsPerProcess";
        Assert.That(
            places.Take(Client(1)), Has.Property("Option").EqualTo(name).And.Property("Limit").EqualTo(expected));
        Assert.That(places.Take(Client(2)) is null, Is.EqualTo(all != 1));
    }

    [TestCase(4, null, 2)]
    [TestCase(5, null, 3)]
    [TestCase(4, 3, 3)]
    [TestCase(4, 1, 1)]
    [TestCase(null, null, 8)]
    public void TryTake_OfOtherUsers_IsRefusedAboveTheOptionOrHalf(int? all, int? perUser, int expected)
    {
        var places = new ConnectionPlaces(new DoorLimits(1, all, null, perUser), 64, () => int.MaxValue);
        for (int i = 0; i < expected; i++)
        {
            Assert.That(places.Take(Other(i)), Is.Null);
        }

        Assert.That(places.Take(Other(expected)), Is.EqualTo(new ReachedLimit(
            "MaxConnectionsPerUser", expected, $"user {Other(0).User} has {expected} connections")));
        Assert.That(places.Count, Is.EqualTo(expected));
        Assert.That(places.Take(Client(1)), Is.Null, "the own user");
        places.GiveBack(Other(0));
        Assert.That(places.Take(Other(0)), Is.Null);
    }

    [TestCase(null, 16, 4)]
    [TestCase(100, 16, 4)]
    [TestCase(3, 16, 3)]
    [TestCase(null, 1, 1)]
    public void TryTake_WithFewMappings_IsRefusedLongBeforeTheyAreUsedUp(int? option, long mappings, int expected)
    {
        var places = new ConnectionPlaces(new DoorLimits(1, option, null), mappings, () => int.MaxValue);
        int taken = 0;
        while (places.Take(Client(taken)) is null)
        {
            taken++;
        }

        Assert.That(taken, Is.EqualTo(expected));
        string name = option == expected ? "MaxConnections" : HostSystem.Current.MaxMappingsName;
        Assert.That(places.Take(Client(taken))!.Option, Is.EqualTo(name));
    }

    [TestCase(0)]
    [TestCase(5)]
    [LinuxOnly("The numbers of descriptors.")]
    public void CheckDescriptors_BelowAndAtTheReserve_CountsWhatConnectionsMayNeed(int connections)
    {
        using var sockets = new SocketPair();
        long reserve = ConnectionPlaces.ReservedDescriptors + (connections * ConnectionPlaces.ReservedPerConnection);
        long most = sockets.ServerWire.Number + reserve;
        long limit = most + 1;
        var places = new ConnectionPlaces(new DoorLimits(1, null, null), ManyMappings, () => limit);
        for (int i = 0; i < connections; i++)
        {
            Assert.That(places.Take(Client(i)), Is.Null);
        }

        Assert.That(places.CheckDescriptors(sockets.ServerWire, Client(1)), Is.Null);
        limit = most;
        Assert.That(places.CheckDescriptors(sockets.ServerWire, Client(1))?.Option, Is.EqualTo("RLIMIT_NOFILE"));
    }

    [TestCase(null, 2, false)]
    [TestCase(null, 3, true)]
    [TestCase(1, 2, true)]
    [LinuxOnly("The numbers of descriptors.")]
    public void CheckDescriptors_OfOtherUsers_LeavesHalfToTheOwnUser(int? perUser, int times, bool isFree)
    {
        using var sockets = new SocketPair();
        long limit = ConnectionPlaces.ReservedDescriptors + (times * sockets.ServerWire.Number);
        var places = new ConnectionPlaces(new DoorLimits(1, null, null, perUser), ManyMappings, () => limit);

        Assert.That(places.CheckDescriptors(sockets.ServerWire, Other(1)) is null, Is.EqualTo(isFree));
        Assert.That(places.CheckDescriptors(sockets.ServerWire, Client(1)), Is.Null);
    }

    private static PeerIdentity Client(int process) => new(process, TestAccounts.Own, default);

    private static PeerIdentity Other(int process) => new(process, TestAccounts.Of(54321), default);

    private static ConnectionPlaces Make(int? all, int? perProcess) =>
        new(new DoorLimits(1, all, perProcess), ManyMappings, () => int.MaxValue);
}
