using RpcOverShm.Linux;

namespace RpcOverShm.Tests.Linux;

[LinuxOnly("Names and numbers of the system's database of users.")]
public class SystemAccountsTests
{
    // Every system has this entry in both databases.
    [Test]
    public void Find_OfRoot_IsZero()
    {
        Assert.That(SystemAccounts.FindUser("root"), Is.Zero);
        Assert.That(SystemAccounts.FindGroup("root"), Is.Zero);
    }

    [Test]
    public void Find_OfEveryEntryOfTheFiles_IsItsNumber()
    {
        foreach (string[] user in Entries("/etc/passwd"))
        {
            Assert.That(SystemAccounts.FindUser(user[0]), Is.EqualTo(uint.Parse(user[2])), user[0]);
        }

        foreach (string[] group in Entries("/etc/group"))
        {
            Assert.That(SystemAccounts.FindGroup(group[0]), Is.EqualTo(uint.Parse(group[2])), group[0]);
        }
    }

    [Test]
    public void NameOfUser_OfEveryUserOfTheFile_IsTheFirstNameOfItsNumber()
    {
        foreach (string[] user in Entries("/etc/passwd").DistinctBy(user => user[2]))
        {
            Assert.That(SystemAccounts.NameOfUser(uint.Parse(user[2])), Is.EqualTo(user[0]), user[2]);
        }
    }

    [Test]
    public void NameOfUser_WithoutAnEntry_IsNull() =>
        Assert.That(SystemAccounts.NameOfUser(4_000_000_001), Is.Null);

    [TestCase("0", 0u)]
    [TestCase("4294967294", 4294967294u)]
    [TestCase("31337", 31337u, Description = "A number needs no entry.")]
    public void Find_OfANumber_IsThatNumber(string text, uint number)
    {
        Assert.That(SystemAccounts.FindUser(text), Is.EqualTo(number));
        Assert.That(SystemAccounts.FindGroup(text), Is.EqualTo(number));
    }

    [TestCase("")]
    [TestCase(" ")]
    [TestCase("-1")]
    [TestCase("+1")]
    [TestCase(" 1")]
    [TestCase("4294967295")]
    [TestCase("99999999999")]
    [TestCase("no-such-account")]
    [TestCase("root\0")]
    [TestCase("ro:ot")]
    public void Find_OfNoName_IsNull(string text)
    {
        Assert.That(SystemAccounts.FindUser(text), Is.Null);
        Assert.That(SystemAccounts.FindGroup(text), Is.Null);
    }

    [Test]
    public void Find_OfAVeryLongName_IsNull()
    {
        Assert.That(SystemAccounts.FindUser(new string('x', 100_000)), Is.Null);
    }

    [TestCase(5, TestName = "EIO")]
    [TestCase(12, TestName = "ENOMEM")]
    [TestCase(23, TestName = "ENFILE")]
    [TestCase(24, TestName = "EMFILE")]
    public unsafe void Find_WhileTheNameServiceFails_Throws(int errno) => Assert.That(
        () => SystemAccounts.FindByName("someone", Failing(errno)),
        Throws.TypeOf<IOException>().With.Message.Contains($"(errno {errno})"));

    [TestCase(0)]
    [TestCase(2, Description = "ENOENT")]
    [TestCase(3, Description = "ESRCH")]
    public unsafe void Find_WhileTheNameServiceKnowsNoSuchName_IsNull(int errno) =>
        Assert.That(SystemAccounts.FindByName("someone", Failing(errno)), Is.Null);

    private static unsafe SystemAccounts.Lookup Failing(int errno) => (_, _, _, _, found) =>
    {
        *found = null;
        return errno;
    };

    private static IEnumerable<string[]> Entries(string path) =>
        File.ReadLines(path).Select(line => line.Split(':')).Where(fields => fields.Length > 3);
}
