namespace RpcOverShm.Tests.Options;

/// <summary>Options that name users and groups are checked when they are read; the error names the option.</summary>
[LinuxOnly("Numbers of users, and directories. WindowsSystemTests has names and SIDs.")]
public class AccessOptionTests
{
    private const string Path = "shm:///tmp/never-made";

    [TestCase("")]
    [TestCase(null)]
    [TestCase("-1")]
    [TestCase("4294967295")]
    [TestCase("no-such-account")]
    [TestCase("root ")]
    public void Names_ThatDoNotExist_AreRefusedWithTheOption(string? name)
    {
        string users = "takes the names or numbers (0 to 4294967294) of users of this system; ";
        Refuses(() => Server(options => options.Listen.AllowedUsers.Add(name!)), "Listen.AllowedUsers " + users);
        Refuses(() => Listener(options => options.Listen.AllowedUsers.Add(name!)), "Listen.AllowedUsers " + users);
        string trusted = "Connect.TrustedServerUsers " + users;
        Refuses(() => Channel(options => options.Connect.TrustedServerUsers.Add(name!)), trusted);
        Refuses(() => Stream(options => options.Connect.TrustedServerUsers.Add(name!)), trusted);
        if (name is not null)
        {
            string groups =
                "Listen.AllowedGroup takes the names or numbers (0 to 4294967294) of groups of this system; ";
            Refuses(() => Server(options => options.Listen.AllowedGroup = name), groups);
            Refuses(() => Listener(options => options.Listen.AllowedGroup = name), groups);
        }
    }

    [TestCase("root")]
    [TestCase("0")]
    [TestCase("31337", Description = "A number needs no entry in the user database.")]
    public void Names_ThatExist_AreTaken(string name)
    {
        Assert.That(() => Server(options => options.Listen.AllowedUsers.Add(name)), Throws.Nothing);
        Assert.That(() => Server(options => options.Listen.AllowedGroup = name), Throws.Nothing);
        Assert.That(() => Listener(options => options.Listen.AllowedGroup = name), Throws.Nothing);
        Assert.That(() => Channel(options => options.Connect.TrustedServerUsers.Add(name)), Throws.Nothing);
    }

    [Test]
    public void Name_InTheUsersOwnDirectory_CannotBeShared()
    {
        const string Why = "Listen.AllowedUsers and Listen.AllowedGroup need Listen.RuntimeDirectory, or an address "
            + "'shm:///path': 'shm://name' stands for a socket in the server user's own directory";
        var users = new ShmServerOptions { Listen = { AllowedUsers = { "0" } } };
        var group = new ShmStreamListenerOptions { Listen = { AllowedGroup = "0" } };

        Refuses(() => _ = new ShmServer("shm://name", users), Why);
        Refuses(() => _ = new ShmStreamListener("shm://name", group), Why);
        users.Listen.RuntimeDirectory = "/tmp/shared";
        group.Listen.RuntimeDirectory = "/tmp/shared";
        Assert.That(() => _ = new ShmServer("shm://name", users), Throws.Nothing);
        Assert.That(() => _ = new ShmStreamListener("shm://name", group), Throws.Nothing);
    }

    private static void Refuses(Action create, string why) =>
        Assert.That(create, Throws.InstanceOf<ArgumentException>().With.Message.StartsWith(why));

    private static void Server(Action<ShmServerOptions> change)
    {
        var options = new ShmServerOptions();
        change(options);
        _ = new ShmServer(Path, options);
    }

    private static void Listener(Action<ShmStreamListenerOptions> change)
    {
        var options = new ShmStreamListenerOptions();
        change(options);
        _ = new ShmStreamListener(Path, options);
    }

    private static void Channel(Action<ShmChannelOptions> change)
    {
        var options = new ShmChannelOptions();
        change(options);
        ShmChannel.ForAddress(Path, options).Dispose();
    }

    private static void Stream(Action<ShmStreamOptions> change)
    {
        var options = new ShmStreamOptions();
        change(options);
        _ = ShmStream.ConnectAsync(Path, options);
    }
}
