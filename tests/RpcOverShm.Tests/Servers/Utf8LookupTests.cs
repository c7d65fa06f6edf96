using System.Text;
using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>Names of all lengths are found, other names are not.</summary>
[TestFixture]
public class Utf8LookupTests
{
    [Test]
    public void Find_EveryName_GivesItsValue()
    {
        string[] names =
        [
            "", "/", "/a", "/a/b", "/aa/bb/", "/aaa/bbb", "/aaa/bbbb", "/Grüße/Ähm",
            .. Enumerable.Range(0, 1000).Select(number => $"/company.services.Numbered/Method{number}"),
            .. Enumerable.Range(0, 1000).Select(number => $"/company.services.Numbered{number}/Method"),
        ];
        Utf8Lookup<string> table = TableOf(names);
        Assert.That(names.Select(name => table.Find(Encoding.UTF8.GetBytes(name))), Is.EqualTo(names));
    }

    [TestCase("")]
    [TestCase("/service/metho")]
    [TestCase("/service/methods")]
    [TestCase("/service/Method")]
    [TestCase("service/method")]
    [TestCase("/service/method\0")]
    public void Find_AnotherName_GivesNull(string other) =>
        Assert.That(TableOf("/service/method", "/service/other").Find(Encoding.UTF8.GetBytes(other)), Is.Null);

    [Test]
    public void Find_InNone_GivesNull() => Assert.That(TableOf().Find("/service/method"u8), Is.Null);

    [Test]
    public void Find_BytesThatAreNoText_GivesNull() =>
        Assert.That(TableOf("/service/\uFFFD").Find([.. "/service/"u8, 0xFF]), Is.Null);

    private static Utf8Lookup<string> TableOf(params string[] names) => new(names.ToDictionary(name => name));
}
