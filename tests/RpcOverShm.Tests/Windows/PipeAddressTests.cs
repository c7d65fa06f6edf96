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
    public void Parse_WithARuntimeDirectory_NamesTheOption() => Assert.That(
        () => RendezvousAddress.Parse("shm://name", "/run/app", "Listen.RuntimeDirectory"),
        Throws.ArgumentException.With.Message.StartsWith("Listen.RuntimeDirectory is '/run/app'"));

    private static string Place(string address) => RendezvousAddress.Parse(address, null).Place;
}
