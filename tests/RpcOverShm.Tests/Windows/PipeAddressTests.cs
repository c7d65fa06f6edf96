using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>Addresses as names of pipes, and those that have no counterpart.</summary>
[WindowsFixture]
[SupportedOSPlatform("windows")]
public class PipeAddressTests
{
    private static string Own => $@"\\.\pipe\rpcovershm\{WindowsSystem.OwnSid}\";

    [TestCase("shm://name", "name")]
    [TestCase("shm://a/b", "a+b")]
    [TestCase("shm://dot.", "dot.+")]
    public void Place_OfAName_IsOfTheUser(string address, string expected) =>
        Assert.That(Place(address), Is.EqualTo(Own + expected));

    [TestCase("shm:///x", @"\\.\pipe\x")]
    [TestCase("shm:///x/y z", @"\\.\pipe\x\y z")]
    public void Place_OfAPath_IsThePipe(string address, string expected) =>
        Assert.That(Place(address), Is.EqualTo(expected));

    [TestCase(@"shm:///x\y", "'\\' is not allowed")]
    [TestCase("shm:///C:/x", "':' is not allowed")]
    [TestCase("shm:///x/", "a segment of the pipe's name is empty")]
    [TestCase("shm:///", "a segment of the pipe's name is empty")]
    [TestCase("shm:///x/../y", "ends with a dot or space")]
    [TestCase("shm:///x\0", "a control character")]
    public void Parse_OfAPathWithoutCounterpart_FailsWithTheReason(string address, string reason) => Assert.That(
        () => Place(address),
        Throws.ArgumentException.With.Message.Contains(reason).And.Message.Contains("Allowed are"));

    [Test]
    public void Parse_OfAPathThatIsTooLong_Fails() => Assert.That(
        () => Place("shm:///" + new string('a', 300)),
        Throws.ArgumentException.With.Message.Contains("309 characters and the system allows 247"));

    [Test]
    public void Parse_OfANameThatIsTooLong_Fails() => Assert.That(
        () => Place("shm://" + new string('a', 300)),
        Throws.ArgumentException.With.Message.Contains("has 300 characters and at most 200 are allowed"));

    // Two names have two pipes. Whether a name fits depends on the length of the SID.
    [Test]
    public void Place_OfALongName_HasTheNameOrItsHash()
    {
        string name = new('a', 200);
        bool hasRoom = Own.Length + name.Length <= 247;

        Assert.That(Place("shm://" + name), Does.StartWith(Own + (hasRoom ? 'a' : '~')));
        Assert.That(Place("shm://" + name), Has.Length.LessThanOrEqualTo(247));
        Assert.That(Place("shm://" + name), Is.Not.EqualTo(Place("shm://" + name[1..] + "b")));
    }

    // An address of Linux is a pipe of that name, which no file of that path has to do with.
    [TestCase("shm:///run/user/1000/app.sock", @"\\.\pipe\run\user\1000\app.sock")]
    [TestCase("shm:///tmp/app", @"\\.\pipe\tmp\app")]
    public void Place_OfAPathOfLinux_IsAPipe(string address, string expected) =>
        Assert.That(Place(address), Is.EqualTo(expected));

    [TestCase(@"\\.\pipe\x", "does not start with 'shm://'")]
    [TestCase(@"shm://\\.\pipe\x", "'\\' is not allowed in a name")]
    [TestCase("/run/app.sock", "does not start with 'shm://'")]
    [TestCase("unix:/run/app.sock", "does not start with 'shm://'")]
    public void Parse_OfAnotherFormOfAddress_FailsWithTheReason(string address, string reason) => Assert.That(
        () => Place(address),
        Throws.ArgumentException.With.Message.Contains(reason).And.Message.Contains("Allowed are"));

    [Test]
    public void Parse_WithARuntimeDirectory_NamesTheOption() => Assert.That(
        () => RendezvousAddress.Parse("shm://name", "/run/app", "Listen.RuntimeDirectory"),
        Throws.ArgumentException.With.Message.StartsWith("Listen.RuntimeDirectory is '/run/app'"));

    private static string Place(string address) => RendezvousAddress.Parse(address, null).Place;
}
