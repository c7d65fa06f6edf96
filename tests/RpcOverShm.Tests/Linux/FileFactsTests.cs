using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;

namespace RpcOverShm.Tests.Linux;

[LinuxOnly("What statx says about a file.")]
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
    public void OfPath_OfFileDirectoryAndSocket_SaysKindSizeAndOwner()
    {
        File.WriteAllText(_directory.Combine("grün-日本"), "12345");
        using var socket = UnixSockets.Listen(_directory.Combine("s"), backlog: 1);

        FileFacts file = FileFacts.OfPath(_directory.Combine("grün-日本"))!.Value;
        FileFacts folder = FileFacts.OfPath(_directory.Path)!.Value;
        FileFacts bound = FileFacts.OfPath(_directory.Combine("s"))!.Value;

        Assert.That((file.IsDirectory, file.IsSocket), Is.EqualTo((false, false)));
        Assert.That((folder.IsDirectory, folder.IsSocket), Is.EqualTo((true, false)));
        Assert.That((bound.IsDirectory, bound.IsSocket), Is.EqualTo((false, true)));
        Assert.That((file.SizeBytes, file.UserId), Is.EqualTo((5, LinuxNative.GetEffectiveUserId())));
    }

    [Test]
    public void OfPath_OfLink_IsTheLinkItself()
    {
        File.CreateSymbolicLink(_directory.Combine("link"), _directory.Path);

        Assert.That(FileFacts.OfPath(_directory.Combine("link"))!.Value.IsDirectory, Is.False);
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
    public void IsSameFileAs_OfAPathAndADescriptor_IsTrueUntilTheNameGoesToAnotherFile()
    {
        string file = _directory.Combine("file");
        using SafeFileHandle descriptor = File.OpenHandle(file, FileMode.CreateNew, FileAccess.Write);
        Assert.That(FileFacts.OfPath(file)!.Value.IsSameFileAs(FileFacts.OfDescriptor(descriptor)));
        File.WriteAllText(_directory.Combine("other"), "");

        File.Move(_directory.Combine("other"), file, overwrite: true);

        Assert.That(FileFacts.OfPath(file)!.Value.IsSameFileAs(FileFacts.OfDescriptor(descriptor)), Is.False);
    }

}
