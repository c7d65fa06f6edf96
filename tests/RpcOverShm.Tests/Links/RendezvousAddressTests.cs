using System.Security.Cryptography;
using System.Text;
using RpcOverShm.Links;

namespace RpcOverShm.Tests.Links;

public class RendezvousAddressTests
{
    private const string Directory = "/run/shm-test";
    private const int MaxPathBytes = 107;

    [TestCase("a")]
    [TestCase("greeter")]
    [TestCase("Greeter-1.2_x")]
    [TestCase("...")]
    [TestCase(".hidden")]
    [TestCase("-")]
    [TestCase("0")]
    public void Parse_OfAName_IsAFileInTheDirectory(string name)
    {
        var address = RendezvousAddress.Parse($"shm://{name}", Directory);

        Assert.That(address.SocketPath, Is.EqualTo($"{Directory}/{name}.sock"));
        Assert.That(address.LockPath, Is.EqualTo($"{Directory}/{name}.lock"));
        Assert.That(address.IsInRuntimeDirectory);
        Assert.That(address.Text, Is.EqualTo($"shm://{name}"));
        Assert.That(address.ToString(), Is.EqualTo(address.Text));
    }

    [TestCase("a/b", "a+b")]
    [TestCase("a/b/c.d/-", "a+b+c.d+-")]
    public void Parse_OfANameWithSegments_IsOneFlatFile(string name, string stem)
    {
        Assert.That(
            RendezvousAddress.Parse($"shm://{name}", Directory).SocketPath, Is.EqualTo($"{Directory}/{stem}.sock"));
    }

    [TestCase("", "a segment is empty")]
    [TestCase("a/", "a segment is empty")]
    [TestCase("a//b", "a segment is empty")]
    [TestCase(".", "a segment is '.'")]
    [TestCase("..", "a segment is '..'")]
    [TestCase("a/../b", "a segment is '..'")]
    [TestCase("a/.", "a segment is '.'")]
    [TestCase("a b", "' ' is not allowed")]
    [TestCase("a+b", "'+' is not allowed")]
    [TestCase("~a", "'~' is not allowed")]
    [TestCase("ä", "'ä' is not allowed")]
    [TestCase("a\\b", "'\\' is not allowed")]
    [TestCase("a:80", "':' is not allowed")]
    [TestCase("a?b", "'?' is not allowed")]
    [TestCase("a\0b", "is not allowed")]
    [TestCase("a\nb", "is not allowed")]
    [TestCase("%41", "'%' is not allowed")]
    public void Parse_OfAMalformedName_SaysWhatIsWrongAndWhatIsAllowed(string name, string why)
    {
        Assert.That(
            () => RendezvousAddress.Parse($"shm://{name}", Directory),
            Throws.ArgumentException
                .With.Message.Contains(why)
                .And.Message.Contains("Allowed are 'shm://name'")
                .And.Property(nameof(ArgumentException.ParamName)).EqualTo("address"));
    }

    [TestCase("")]
    [TestCase("greeter")]
    [TestCase("http://greeter")]
    [TestCase("net.pipe:greeter")]
    [TestCase("shm:/greeter")]
    [TestCase("shm:greeter")]
    [TestCase(" shm://greeter")]
    public void Parse_OfAnotherScheme_SaysWhatIsAllowed(string address)
    {
        Assert.That(
            () => RendezvousAddress.Parse(address, Directory),
            Throws.ArgumentException.With.Message.Contains("does not start with 'shm://'"));
    }

    [TestCase("net.pipe://localhost/acme", "write 'shm://acme'")]
    [TestCase("NET.PIPE://localhost/acme/orders/", "write 'shm://acme/orders'")]
    [TestCase("net.pipe://localhost/a b", "write 'shm://name'")]
    public void Parse_OfAPipesAddress_SaysWhatToWrite(string address, string advice) => Assert.That(
        () => RendezvousAddress.Parse(address, Directory),
        Throws.ArgumentException.With.Message.StartsWith(
            $"'{address}' is not an address: it does not start with 'shm://'; {advice}. Allowed are 'shm://name'"));

    [Test]
    public void Parse_OfASchemeInCapitals_IsTheSame() => Assert.That(
        RendezvousAddress.Parse("SHM://greeter", Directory).SocketPath, Is.EqualTo($"{Directory}/greeter.sock"));

    [Test]
    public void Parse_OfNull_IsRefused()
    {
        Assert.That(() => RendezvousAddress.Parse(null!, Directory), Throws.ArgumentNullException);
    }

    [Test]
    public void Parse_OfNamesUpTo200Characters_IsTaken()
    {
        Assert.That(() => RendezvousAddress.Parse("shm://" + new string('a', 200), Directory), Throws.Nothing);
        Assert.That(
            () => RendezvousAddress.Parse("shm://" + new string('a', 201), Directory),
            Throws.ArgumentException.With.Message.Contains("201 characters and at most 200"));
    }

    [TestCase("/tmp/x")]
    [TestCase("/x")]
    [TestCase("/tmp/with space/grün.socket")]
    [TestCase("/tmp/../tmp/x")]
    public void Parse_OfAPath_IsThatVeryFile(string path)
    {
        var address = RendezvousAddress.Parse($"shm://{path}", Directory);

        Assert.That(address.SocketPath, Is.EqualTo(path));
        Assert.That(address.LockPath, Is.EqualTo(path + ".lock"));
        Assert.That(address.IsInRuntimeDirectory, Is.False);
    }

    [TestCase("/")]
    [TestCase("//")]
    [TestCase("/tmp/")]
    [TestCase("/tmp/a\0b")]
    public void Parse_OfAPathThatNamesNoFile_IsRefused(string path)
    {
        Assert.That(
            () => RendezvousAddress.Parse($"shm://{path}", Directory),
            Throws.ArgumentException.With.Message.Contains("must name a file"));
    }

    [Test]
    public void Parse_OfAPathBeyond107Bytes_IsRefused()
    {
        string longest = "/" + new string('a', MaxPathBytes - 1);
        string longestUmlauts = "/" + new string('ü', (MaxPathBytes - 1) / 2);

        Assert.That(() => RendezvousAddress.Parse($"shm://{longest}", Directory), Throws.Nothing);
        Assert.That(() => RendezvousAddress.Parse($"shm://{longestUmlauts}", Directory), Throws.Nothing);
        Assert.That(
            () => RendezvousAddress.Parse($"shm://{longest}a", Directory),
            Throws.ArgumentException.With.Message.Contains("108 bytes and the system allows 107"));
        Assert.That(
            () => RendezvousAddress.Parse($"shm://{longestUmlauts}ü", Directory),
            Throws.ArgumentException.With.Message.Contains("109 bytes"));
    }

    [Test]
    public void Parse_OfANameThatFitsExactly_IsNotHashed()
    {
        string name = new('a', MaxPathBytes - Directory.Length - "/.sock".Length);

        var address = RendezvousAddress.Parse($"shm://{name}", Directory);
        var longer = RendezvousAddress.Parse($"shm://{name}a", Directory);

        Assert.That(address.SocketPath, Has.Length.EqualTo(MaxPathBytes).And.EndsWith("a.sock"));
        Assert.That(longer.SocketPath, Is.EqualTo($"{Directory}/{HashStem(name + "a")}.sock"));
        Assert.That(longer.LockPath, Is.EqualTo($"{Directory}/{HashStem(name + "a")}.lock"));
    }

    [Test]
    public void Parse_OfALongNameWithSegments_HashesTheNameAsItWasWritten()
    {
        string name = string.Join('/', Enumerable.Repeat("segment", 20));

        Assert.That(
            RendezvousAddress.Parse($"shm://{name}", Directory).SocketPath,
            Is.EqualTo($"{Directory}/{HashStem(name)}.sock"));
    }

    [Test]
    public void Parse_OfTwoLongNames_IsTwoFiles()
    {
        string start = new('a', 150);

        Assert.That(
            RendezvousAddress.Parse($"shm://{start}1", Directory).SocketPath,
            Is.Not.EqualTo(RendezvousAddress.Parse($"shm://{start}2", Directory).SocketPath));
    }

    [Test]
    public void Parse_InADirectoryThatIsTooLong_NamesTheDirectory()
    {
        string directory = "/" + new string('d', 80);

        Assert.That(
            () => RendezvousAddress.Parse("shm://" + new string('a', 50), directory),
            Throws.ArgumentException.With.Message.Contains(directory));
    }

    [Test]
    public void Parse_WithARelativeDirectory_MakesItAbsolute()
    {
        var address = RendezvousAddress.Parse("shm://a", "some/../sub");

        Assert.That(address.SocketPath, Is.EqualTo(Path.Combine(Environment.CurrentDirectory, "sub/a.sock")));
    }

    [Test]
    public void Parse_WithoutADirectory_TakesTheUsersOwn()
    {
        Assert.That(
            RendezvousAddress.Parse("shm://a", null).SocketPath, Is.EqualTo($"{RuntimeDirectory.Default}/a.sock"));
    }

    [Test]
    public void Parse_OfManyNames_NeverMixesSocketAndLockFiles()
    {
        string[] names = ["a", "a.sock", "a.lock", "a.sock.lock", "a/b", "a.b", new string('a', 180)];
        var files = names.Select(name => RendezvousAddress.Parse($"shm://{name}", Directory))
            .SelectMany(address => (string[])[address.SocketPath, address.LockPath]);

        Assert.That(files, Is.Unique);
    }

    // Names cannot contain a '~', so no name collides with a hash.
    private static string HashStem(string name) =>
        "~" + Convert.ToHexStringLower(SHA256.HashData(Encoding.ASCII.GetBytes(name)))[..32];
}
