using Microsoft.Win32.SafeHandles;
using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Segments;

public class FileFactsTests
{
    private readonly TestDirectory _directory = new();

    [TearDown]
    public void RemoveDirectory() => _directory.Dispose();

    [Test]
    public void OfPath_WhereNothingStands_IsNull()
    {
        Assert.That(FileFacts.OfPath(_directory.Combine("missing")), Is.Null);
    }

    [Test]
    public void OfPath_ThroughAFile_IsAnIOException()
    {
        string file = _directory.Combine("file");
        File.WriteAllText(file, "");

        Assert.That(() => FileFacts.OfPath(file + "/x"), Throws.TypeOf<IOException>().With.Message.Contains("file/x"));
    }

    [Test]
    public void OfPath_OfFile_SaysSizeOwnerAndKind()
    {
        string file = _directory.Combine("file");
        File.WriteAllText(file, "12345");

        FileFacts facts = FileFacts.OfPath(file)!.Value;

        Assert.That(facts.SizeBytes, Is.EqualTo(5));
        Assert.That(facts.UserId, Is.EqualTo(LinuxNative.GetEffectiveUserId()));
        Assert.That((facts.IsDirectory, facts.IsSocket), Is.EqualTo((false, false)));
    }

    [Test]
    public void OfPath_OfDirectory_SaysSo()
    {
        FileFacts facts = FileFacts.OfPath(_directory.Path)!.Value;

        Assert.That((facts.IsDirectory, facts.IsSocket), Is.EqualTo((true, false)));
    }

    [Test]
    public void OfPath_OfSocket_SaysSo()
    {
        using var socket = SocketPair.NewSocket();
        socket.Bind(new System.Net.Sockets.UnixDomainSocketEndPoint(_directory.Combine("s")));

        FileFacts facts = FileFacts.OfPath(_directory.Combine("s"))!.Value;

        Assert.That((facts.IsDirectory, facts.IsSocket), Is.EqualTo((false, true)));
    }

    [Test]
    public void OfPath_OfLink_IsTheLinkItself()
    {
        File.CreateSymbolicLink(_directory.Combine("link"), _directory.Path);

        Assert.That(FileFacts.OfPath(_directory.Combine("link"))!.Value.IsDirectory, Is.False);
    }

    [Test]
    public void OfPath_OfNameBeyondAscii_FindsIt()
    {
        string file = _directory.Combine("grün-日本");
        File.WriteAllText(file, "1");

        Assert.That(FileFacts.OfPath(file)!.Value.SizeBytes, Is.EqualTo(1));
    }

    [TestCase("---", false)]
    [TestCase("r--", true)]
    [TestCase("-w-", true)]
    [TestCase("--x", true)]
    public void IsOpenToOthers_OfMode_IsTrueForAnyBitOfGroupOrOthers(string bits, bool isOpen)
    {
        int mode = (bits[0] == 'r' ? 4 : 0) | (bits[1] == 'w' ? 2 : 0) | (bits[2] == 'x' ? 1 : 0);
        string file = _directory.Combine("file");
        File.WriteAllText(file, "");

        foreach (int shift in (int[])[0, 3])
        {
            File.SetUnixFileMode(file, UnixFileMode.UserRead | UnixFileMode.UserWrite | (UnixFileMode)(mode << shift));
            Assert.That(FileFacts.OfPath(file)!.Value.IsOpenToOthers, Is.EqualTo(isOpen));
        }
    }

    [Test]
    public void IsSameFileAs_OfPathAndDescriptorOfOneFile_IsTrue()
    {
        string file = _directory.Combine("file");
        using SafeFileHandle descriptor = File.OpenHandle(file, FileMode.CreateNew, FileAccess.Write);

        Assert.That(FileFacts.OfPath(file)!.Value.IsSameFileAs(FileFacts.OfDescriptor(descriptor)));
    }

    [Test]
    public void IsSameFileAs_AfterTheNameWentToAnotherFile_IsFalse()
    {
        string file = _directory.Combine("file");
        using SafeFileHandle descriptor = File.OpenHandle(file, FileMode.CreateNew, FileAccess.Write);
        File.WriteAllText(_directory.Combine("other"), "");
        File.Move(_directory.Combine("other"), file, overwrite: true);

        Assert.That(FileFacts.OfPath(file)!.Value.IsSameFileAs(FileFacts.OfDescriptor(descriptor)), Is.False);
    }
}
