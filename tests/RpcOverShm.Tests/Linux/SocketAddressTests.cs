using System.Security.Cryptography;
using System.Text;
using RpcOverShm.Linux;

namespace RpcOverShm.Tests.Linux;

[LinuxOnly("Paths of sockets. PipeAddressTests has the names of pipes.")]
public class SocketAddressTests
{
    private const string Directory = "/run/shm-test";
    private const int MaxPathBytes = 107;

    [TestCase("a", "a")]
    [TestCase("greeter", "greeter")]
    [TestCase("Greeter-1.2_x", "Greeter-1.2_x")]
    [TestCase("...", "...")]
    [TestCase(".hidden", ".hidden")]
    [TestCase("-", "-")]
    [TestCase("0", "0")]
    [TestCase("a/b", "a+b")]
    [TestCase("a/b/c.d/-", "a+b+c.d+-")]
    public void Parse_OfAName_IsAFlatFileInTheDirectory(string name, string stem)
    {
        SocketAddress address = Parse($"shm://{name}");

        Assert.That(address.SocketPath, Is.EqualTo($"{Directory}/{stem}.sock"));
        Assert.That(address.LockPath, Is.EqualTo($"{Directory}/{stem}.lock"));
        Assert.That(address.IsInRuntimeDirectory);
        Assert.That(address.Text, Is.EqualTo($"shm://{name}"));
        Assert.That(address.ToString(), Is.EqualTo(address.Text));
    }

    [TestCase("shm://", "a segment is empty")]
    [TestCase("shm://a/", "a segment is empty")]
    [TestCase("shm://a//b", "a segment is empty")]
    [TestCase("shm://.", "a segment is '.'")]
    [TestCase("shm://..", "a segment is '..'")]
    [TestCase("shm://a/../b", "a segment is '..'")]
    [TestCase("shm://a/.", "a segment is '.'")]
    [TestCase("shm://a b", "' ' is not allowed")]
    [TestCase("shm://a+b", "'+' is not allowed")]
    [TestCase("shm://~a", "'~' is not allowed")]
    [TestCase("shm://ä", "'ä' is not allowed")]
    [TestCase("shm://a\\b", "'\\' is not allowed")]
    [TestCase("shm://a:80", "':' is not allowed")]
    [TestCase("shm://a?b", "'?' is not allowed")]
    [TestCase("shm://a\0b", "is not allowed")]
    [TestCase("shm://a\nb", "is not allowed")]
    [TestCase("shm://%41", "'%' is not allowed")]
    [TestCase("", "does not start with 'shm://'")]
    [TestCase("greeter", "does not start with 'shm://'")]
    [TestCase("http://greeter", "does not start with 'shm://'")]
    [TestCase("net.pipe:greeter", "does not start with 'shm://'")]
    [TestCase("shm:/greeter", "does not start with 'shm://'")]
    [TestCase("shm:greeter", "does not start with 'shm://'")]
    [TestCase(" shm://greeter", "does not start with 'shm://'")]
    [TestCase("shm:///", "must name a file")]
    [TestCase("shm:////", "must name a file")]
    [TestCase("shm:///tmp/", "must name a file")]
    [TestCase("shm:///tmp/a\0b", "must name a file")]
    public void Parse_OfAMalformedAddress_SaysWhatIsWrongAndWhatIsAllowed(string address, string why) =>
        AssertRefused(address, why);

    [TestCase("net.pipe://localhost/acme", "write 'shm://acme'")]
    [TestCase("NET.PIPE://localhost/acme/orders/", "write 'shm://acme/orders'")]
    [TestCase("net.pipe://localhost/a b", "write 'shm://name'")]
    public void Parse_OfAPipesAddress_SaysWhatToWrite(string address, string advice) => Assert.That(
        () => Parse(address),
        Throws.ArgumentException.With.Message.StartsWith(
            $"'{address}' is not an address: it does not start with 'shm://'; {advice}. Allowed are 'shm://name'"));

    [Test]
    public void Parse_OfASchemeInCapitals_IsTheSame() => Assert.That(
        Parse("SHM://greeter").SocketPath, Is.EqualTo($"{Directory}/greeter.sock"));

    [TestCase("run")]
    [TestCase("./run")]
    [TestCase("~/run")]
    [TestCase("")]
    public void Parse_WithARelativeRuntimeDirectory_SaysWhyItIsRefused(string directory) => Assert.That(
        () => Addresses.Parse("shm://greeter", directory),
        Throws.ArgumentException.With.Message.EqualTo(
            $"RuntimeDirectory is an absolute path, such as '/run/my-app', or null; not '{directory}', which would "
            + "depend on the current directory of each process."));

    [Test]
    public void Parse_OfNull_IsRefused()
    {
        Assert.That(
            () => Parse(null!),
            Throws.ArgumentNullException.With.Message.Contains("such as shm://name. If it comes from the configuration")
                .And.Property("ParamName").EqualTo("address"));
    }

    [Test]
    public void Parse_OfNamesUpTo200Characters_IsTaken()
    {
        Assert.That(() => Parse("shm://" + new string('a', 200)), Throws.Nothing);
        AssertRefused("shm://" + new string('a', 201), "201 characters and at most 200");
    }

    [TestCase("/tmp/x")]
    [TestCase("/x")]
    [TestCase("/tmp/with space/grün.socket")]
    [TestCase("/tmp/../tmp/x")]
    public void Parse_OfAPath_IsThatVeryFile(string path)
    {
        SocketAddress address = Parse($"shm://{path}");

        Assert.That(address.SocketPath, Is.EqualTo(path));
        Assert.That(address.LockPath, Is.EqualTo(path + ".lock"));
        Assert.That(address.IsInRuntimeDirectory, Is.False);
    }

    [Test]
    public void Parse_OfAPathBeyond107Bytes_IsRefused()
    {
        string longest = "shm:///" + new string('a', MaxPathBytes - 1);
        string longestUmlauts = "shm:///" + new string('ü', (MaxPathBytes - 1) / 2);

        Assert.That(() => Parse(longest), Throws.Nothing);
        Assert.That(() => Parse(longestUmlauts), Throws.Nothing);
        AssertRefused(longest + "a", "108 bytes and the system allows 107");
        AssertRefused(longestUmlauts + "ü", "109 bytes");
    }

    [Test]
    public void Parse_OfANameThatFitsExactly_IsNotHashed()
    {
        string name = new('a', MaxPathBytes - Directory.Length - "/.sock".Length);

        SocketAddress address = Parse($"shm://{name}");
        SocketAddress longer = Parse($"shm://{name}a");

        Assert.That(address.SocketPath, Has.Length.EqualTo(MaxPathBytes).And.EndsWith("a.sock"));
        Assert.That(longer.SocketPath, Is.EqualTo($"{Directory}/{HashStem(name + "a")}.sock"));
        Assert.That(longer.LockPath, Is.EqualTo($"{Directory}/{HashStem(name + "a")}.lock"));
    }

    [Test]
    public void Parse_OfALongNameWithSegments_HashesTheNameAsItWasWritten()
    {
        string name = string.Join('/', Enumerable.Repeat("segment", 20));

        Assert.That(Parse($"shm://{name}").SocketPath, Is.EqualTo($"{Directory}/{HashStem(name)}.sock"));
    }

    [Test]
    public void Parse_InADirectoryThatIsTooLong_NamesTheDirectory()
    {
        string directory = "/" + new string('d', 80);

        Assert.That(
            () => Addresses.Parse("shm://" + new string('a', 50), directory),
            Throws.ArgumentException.With.Message.Contains(directory));
    }

    [Test]
    public void Parse_WithADirectoryWithDots_ResolvesThem()
    {
        var address = Addresses.Parse("shm://a", "/some/../sub");

        Assert.That(address.SocketPath, Is.EqualTo("/sub/a.sock"));
    }

    [Test]
    public void Parse_WithoutADirectory_TakesTheUsersOwn()
    {
        Assert.That(
            Addresses.Parse("shm://a", null).SocketPath,
            Is.EqualTo($"{DefaultDirectory.Choose().Directory}/a.sock"));
    }

    [Test]
    public void Parse_OfManyNames_NeverMixesSocketAndLockFiles()
    {
        string[] names = ["a", "a.sock", "a.lock", "a.sock.lock", "a/b", "a.b", new string('a', 180)];
        var files = names.Select(name => Parse($"shm://{name}"))
            .SelectMany(address => (string[])[address.SocketPath, address.LockPath]);

        Assert.That(files, Is.Unique);
    }

    // Names cannot contain a '~', so no name collides with a hash.
    private static string HashStem(string name) =>
        "~" + Convert.ToHexStringLower(SHA256.HashData(Encoding.ASCII.GetBytes(name)))[..32];

    private static SocketAddress Parse(string address) => Addresses.Parse(address, Directory);

    private static void AssertRefused(string address, string why) => Assert.That(
        () => Parse(address),
        Throws.ArgumentException
            .With.Message.Contains(why)
            .And.Message.Contains("Allowed are 'shm://name'")
            .And.Property(nameof(ArgumentException.ParamName)).EqualTo("address"));
}
