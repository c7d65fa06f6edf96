using System.Net.Sockets;
using RpcOverShm.Linux;

namespace RpcOverShm.Tests.Linux;

[LinuxOnly("The sockets in a runtime directory; pipes are in none.")]
public class NamesInDirectoryTests
{
    private const string Nobody = "No server runs in this directory.";

    private readonly TestDirectory _directory = new();
    private readonly List<IDisposable> _alive = [];

    [TearDown]
    public void End()
    {
        _alive.ForEach(one => one.Dispose());
        _directory.Dispose();
    }

    [Test]
    public void Describe_BesideManyDeadServers_TellsTheLivingOnly()
    {
        for (int i = 0; i < 200; i++)
        {
            LeaveDead($"dead{i}");
        }

        string before = NamesInDirectory.Describe(_directory.Path);
        MakeLive("acme+orders");
        MakeLive("news");

        Assert.That(before, Is.EqualTo(Nobody));
        Assert.That(
            NamesInDirectory.Describe(_directory.Path),
            Is.EqualTo("Names in this directory: acme/orders, news."));
    }

    [Test]
    public void Describe_OfManyLivingServers_TellsAFew()
    {
        for (int i = 0; i < 9; i++)
        {
            MakeLive($"live{i}");
        }

        string told = NamesInDirectory.Describe(_directory.Path);

        Assert.That(told, Does.EndWith(" and more."));
        Assert.That(told.Split(','), Has.Length.EqualTo(8));
    }

    [Test]
    public void Describe_OfFilesOfAllKinds_TellsNone()
    {
        MakeHostileFiles();

        Assert.That(NamesInDirectory.Describe(_directory.Path), Is.EqualTo(Nobody));
    }

    // A client that looks must not be a client of those that it finds.
    [Test]
    public void Describe_OfALivingServer_MakesNoConnection()
    {
        Socket live = MakeLive("live");

        Assert.That(NamesInDirectory.Describe(_directory.Path), Does.EndWith(": live."));

        Assert.That(live.Poll(0, SelectMode.SelectRead), Is.False, "nobody waits to be accepted");
    }

    [Test]
    public void RemoveDead_RemovesTheFilesOfDeadServersOnly()
    {
        LeaveDead("dead");
        LeaveDead("~0123456789abcdef0123456789abcdef", processId: "");
        MakeLive("live");
        string[] living = ["live.lock", "live.sock"];

        int removed = NamesInDirectory.RemoveDead(_directory.Path);

        Assert.That(removed, Is.EqualTo(2));
        Assert.That(_directory.FileNames, Is.EqualTo(living));
    }

    [Test]
    public void RemoveDead_OfFilesOfAllKinds_LeavesThem()
    {
        MakeHostileFiles();
        string[] before = _directory.FileNames;

        int removed = NamesInDirectory.RemoveDead(_directory.Path);

        Assert.That(removed, Is.Zero);
        Assert.That(_directory.FileNames, Is.EqualTo(before));
        Assert.That(File.ReadAllText(_directory.Combine("program.lock")), Is.EqualTo("precious"));
    }

    // Another server begins or ends at this name just now.
    [Test]
    public void RemoveDead_OfANameWhoseLockIsHeld_LeavesIt()
    {
        LeaveDead("dead");
        using RendezvousLock? held = RendezvousLock.TryTake(_directory.Combine("dead.lock"), out _);

        Assert.That(NamesInDirectory.RemoveDead(_directory.Path), Is.Zero);
        Assert.That(_directory.FileNames, Has.Length.EqualTo(2));
    }

    [Test]
    public void RemoveDead_OfAnotherUsersFiles_LeavesThem()
    {
        Assume.That(LinuxNative.GetEffectiveUserId(), Is.Zero, "Only root can give a file away.");
        LeaveDead("socket");
        LeaveDead("lock");
        Assert.That(NativeCalls.ChangeOwner(_directory.Combine("socket.sock"), 12345, 12345), Is.Zero);
        Assert.That(NativeCalls.ChangeOwner(_directory.Combine("lock.lock"), 12345, 12345), Is.Zero);

        Assert.That(NamesInDirectory.RemoveDead(_directory.Path), Is.Zero);
        Assert.That(_directory.FileNames, Has.Length.EqualTo(4));
    }

    [Test]
    public void RemoveDead_OfMoreThanTheMost_LeavesTheRestToTheNext()
    {
        for (int i = 0; i < NamesInDirectory.MaxRemoved + 5; i++)
        {
            LeaveDead($"dead{i}");
        }

        Assert.That(NamesInDirectory.RemoveDead(_directory.Path), Is.EqualTo(NamesInDirectory.MaxRemoved));
        Assert.That(NamesInDirectory.RemoveDead(_directory.Path), Is.EqualTo(5));
        Assert.That(_directory.FileNames, Is.Empty);
    }

    [Test]
    public void RemoveDead_AmongThousandsOfFiles_LooksAtSomeAndEnds()
    {
        for (int i = 0; i < 5000; i++)
        {
            File.WriteAllText(_directory.Combine($"{i}.sock"), "");
        }

        Assert.That(NamesInDirectory.RemoveDead(_directory.Path), Is.Zero);
        Assert.That(NamesInDirectory.Describe(_directory.Path), Is.EqualTo(Nobody));
    }

    [Test]
    public void RemoveDead_OfADirectoryThatIsNotThere_IsNothing() =>
        Assert.That(NamesInDirectory.RemoveDead(_directory.Combine("missing")), Is.Zero);

    private void LeaveDead(string name, string processId = "1\n") =>
        DeadServer.Leave(_directory.Combine(name + ".sock"), processId);

    private Socket MakeLive(string name)
    {
        RendezvousLock held = RendezvousLock.TryTake(_directory.Combine(name + ".lock"), out _)!;
        Socket socket = UnixSockets.New();
        SocketCalls.Bind(socket, _directory.Combine(name + ".sock"));
        SocketCalls.Listen(socket, 1);
        _alive.Add(held);
        _alive.Add(socket);
        return socket;
    }

    private void MakeHostileFiles()
    {
        // A lock or a socket alone, which may be another program's, and such a program's lock beside its socket.
        LeaveDead("socket-alone");
        File.Delete(_directory.Combine("socket-alone.lock"));
        LeaveDead("lock-alone");
        File.Delete(_directory.Combine("lock-alone.sock"));
        LeaveDead("program", "precious");

        // A name of a server with files of other kinds.
        File.CreateSymbolicLink(_directory.Combine("link.sock"), _directory.Combine("socket-alone.sock"));
        File.WriteAllText(_directory.Combine("link.lock"), "1\n");
        Directory.CreateDirectory(_directory.Combine("directory.sock"));
        File.WriteAllText(_directory.Combine("directory.lock"), "1\n");
        Assert.That(NativeCalls.MakeFifo(_directory.Combine("pipe.sock"), 0x180), Is.Zero);
        File.WriteAllText(_directory.Combine("pipe.lock"), "1\n");
        LeaveDead("pipes");
        File.Delete(_directory.Combine("pipes.lock"));
        Assert.That(NativeCalls.MakeFifo(_directory.Combine("pipes.lock"), 0x180), Is.Zero);
        File.WriteAllText(_directory.Combine("a\nb.sock"), "");
        File.WriteAllText(_directory.Combine(new string('n', 250) + ".sock"), "");
    }
}
