using System.Net.Sockets;
using RpcOverShm.Linux;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Linux;

/// <summary>Changes the umask of the process, so it runs alone.</summary>
[LinuxOnly("A socket's file and its mode; a pipe has none.")]
[NonParallelizable]
public class SocketFileTests
{
    private readonly TestDirectory _directory = new();
    private readonly uint _umaskBefore = NativeCalls.SetUmask(0);

    private static uint OwnGroup => FileFacts.OfPath("/proc/self/task")!.Value.GroupId;

    private string SocketPath => _directory.Combine("s");

    [TearDown]
    public void Restore()
    {
        _ = NativeCalls.SetUmask(_umaskBefore);
        _directory.Dispose();
    }

    // The kernel must make the file with these permissions: a change afterwards would leave a moment open to everybody.
    [Test]
    public void Restrict_BeforeTheBind_MakesAFileOfTheOwnerAlone_WithoutAUmask()
    {
        using Socket socket = Bind();

        Assert.That(FileFacts.OfPath(SocketPath)!.Value.ModeText, Is.EqualTo("0600"));
    }

    [TestCase("nobody", "0600")]
    [TestCase("group", "0660")]
    [TestCase("users", "0666")]
    [TestCase("both", "0666")]
    public void Take_ForOthers_OpensTheSocketAsFarAsNeeded(string who, string mode)
    {
        using Socket socket = Bind();
        var access = new AccessPolicy(
            who is "users" or "both" ? [12345] : [], who is "group" or "both" ? OwnGroup : null);

        using var file = SocketFile.Take(SocketPath, access);

        Assert.That(FileFacts.OfPath(SocketPath)!.Value.ModeText, Is.EqualTo(mode));
        Assert.That(file.IsInPlace);
    }

    [Test]
    public void Take_ForAGroup_GivesTheSocketToIt()
    {
        Assume.That(LinuxNative.GetEffectiveUserId(), Is.Zero, "Only root can give a file to any group.");
        using Socket socket = Bind();

        using var file = SocketFile.Take(SocketPath, new AccessPolicy([], 12345));

        FileFacts facts = FileFacts.OfPath(SocketPath)!.Value;
        Assert.That((facts.GroupId, facts.ModeText), Is.EqualTo((12345u, "0660")));
    }

    [TestCase("ordinary")]
    [TestCase("link")]
    [TestCase("open socket")]
    public void Take_OfAFileThatTookThePlace_IsRefusedAndLeavesIt(string kind)
    {
        using Socket socket = Bind();
        File.Delete(SocketPath);
        using Socket other = UnixSockets.New();
        string target = _directory.Combine("target");
        File.WriteAllText(target, "");
        switch (kind)
        {
            case "ordinary":
                File.Move(target, SocketPath);
                break;
            case "link":
                File.CreateSymbolicLink(SocketPath, target);
                break;
            default:
                other.Bind(new UnixDomainSocketEndPoint(SocketPath));
                break;
        }

        string before = FileFacts.OfPath(SocketPath)!.Value.ModeText;
        Assert.That(
            () => SocketFile.Take(SocketPath, new AccessPolicy([12345], null)),
            Throws.TypeOf<IOException>().With.Message.Contains("is not the socket that was made there"));
        Assert.That(FileFacts.OfPath(SocketPath)!.Value.ModeText, Is.EqualTo(before));
    }

    [Test]
    public void Dispose_RemovesTheFile()
    {
        using Socket socket = Bind();

        SocketFile.Take(SocketPath, AccessPolicy.OwnUserOnly).Dispose();

        Assert.That(FileFacts.OfPath(SocketPath), Is.Null);
    }

    [Test]
    public void Dispose_AfterAnotherFileTookItsPlace_LeavesThatAlone()
    {
        Socket socket = Bind();
        var file = SocketFile.Take(SocketPath, AccessPolicy.OwnUserOnly);
        File.Delete(SocketPath);
        socket.Dispose();
        File.WriteAllText(SocketPath, "another's");
        Assert.That(file.IsInPlace, Is.False);

        file.Dispose();

        Assert.That(File.ReadAllText(SocketPath), Is.EqualTo("another's"));
    }

    [Test]
    public void Dispose_WithoutTheDirectory_DoesNotThrow()
    {
        using Socket socket = Bind();
        var file = SocketFile.Take(SocketPath, AccessPolicy.OwnUserOnly);
        Directory.Delete(_directory.Path, recursive: true);

        Assert.That(file.Dispose, Throws.Nothing);
    }

    private Socket Bind()
    {
        Socket socket = UnixSockets.New();
        SocketFile.Restrict(socket);
        socket.Bind(new UnixDomainSocketEndPoint(SocketPath));
        return socket;
    }
}
