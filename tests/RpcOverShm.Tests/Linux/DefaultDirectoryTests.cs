using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Linux;

/// <summary>Changes environment variables of the process, so it runs alone.</summary>
[LinuxOnly("The user's runtime directory; pipes are in none.")]
[NonParallelizable]
public class DefaultDirectoryTests
{
    private const string Variable = "XDG_RUNTIME_DIR";
    private const int VariableNotUsed = 10;

    private readonly TestDirectory _directory = new();
    private readonly string? _variableBefore = Environment.GetEnvironmentVariable(Variable);

    private static string Temporary =>
        Path.Combine(Path.GetTempPath(), $"rpcovershm-{LinuxNative.GetEffectiveUserId()}");

    [TearDown]
    public void Restore()
    {
        Environment.SetEnvironmentVariable(Variable, _variableBefore);
        _directory.Dispose();
    }

    [TestCase(0x1C0)]
    [TestCase(0x1ED)]
    [TestCase(0x3FF, Description = "A sticky directory, in which nobody can replace another user's files.")]
    public void Choose_WithADirectoryOfThisUser_IsUnderIt(int mode)
    {
        File.SetUnixFileMode(_directory.Path, (UnixFileMode)mode);
        Environment.SetEnvironmentVariable(Variable, _directory.Path);

        AssertUsed(_directory.Combine("rpcovershm"), "XDG_RUNTIME_DIR is set here");
    }

    [Test]
    public void Choose_WithALinkToADirectoryOfThisUser_IsUnderIt()
    {
        Directory.CreateDirectory(_directory.Combine("real"));
        File.CreateSymbolicLink(_directory.Combine("link"), _directory.Combine("real"));
        Environment.SetEnvironmentVariable(Variable, _directory.Combine("link"));

        Assert.That(DefaultDirectory.Choose().Directory, Is.EqualTo(_directory.Combine("link/rpcovershm")));
    }

    [TestCase(null)]
    [TestCase("")]
    public void Choose_WithoutTheVariable_IsTheUsersOwnUnderTheTemporaryFiles(string? value)
    {
        Environment.SetEnvironmentVariable(Variable, value);

        AssertUsed(Temporary, "XDG_RUNTIME_DIR is not set here");
    }

    // A relative one would be another directory for each process.
    [TestCase("relative")]
    [TestCase("./relative")]
    public void Choose_WithoutAnAbsolutePathOfTemporaryFiles_IsUnderTmp(string path)
    {
        string? before = Environment.GetEnvironmentVariable("TMPDIR");
        Environment.SetEnvironmentVariable(Variable, null);
        try
        {
            Environment.SetEnvironmentVariable("TMPDIR", path);

            Assert.That(
                DefaultDirectory.Choose().Directory,
                Is.EqualTo($"/tmp/rpcovershm-{LinuxNative.GetEffectiveUserId()}"));
        }
        finally
        {
            Environment.SetEnvironmentVariable("TMPDIR", before);
        }
    }

    // What WSL sets up without systemd: all users may write to it, and so may put another server in a server's place.
    [Test]
    public void Choose_WithADirectoryThatAllMayWrite_IsTheOtherAndSaysItsOwnerAndMode()
    {
        File.SetUnixFileMode(_directory.Path, (UnixFileMode)0x1FF);

        uint me = LinuxNative.GetEffectiveUserId();
        AssertNotUsed(
            _directory.Path,
            $"'{_directory.Path}' belongs to user {me} and has mode 0777, and must belong to user {me} and not be "
                + "writable by all users");
    }

    [TestCase(0x1ED, "0755")]
    [TestCase(0x1C0, "0700")]
    [TestCase(0x3FF, "1777")]
    public void Choose_WithAnotherUsersDirectory_IsTheOtherAndSaysItsOwnerAndMode(int mode, string modeText)
    {
        // Root can give a directory away; for other users, one of root serves.
        string directory = "/";
        uint owner = 0;
        if (LinuxNative.GetEffectiveUserId() == 0)
        {
            directory = _directory.Path;
            owner = 12345;
            File.SetUnixFileMode(directory, (UnixFileMode)mode);
            Assert.That(NativeCalls.ChangeOwner(directory, owner, owner), Is.Zero);
        }
        else
        {
            Assume.That(modeText, Is.EqualTo(FileFacts.OfPath(directory)!.Value.ModeText));
        }

        AssertNotUsed(directory, $"'{directory}' belongs to user {owner} and has mode {modeText}, ");
    }

    [Test]
    public void Choose_WithADirectoryThatIsAbsent_IsTheOther() => AssertNotUsed(
        _directory.Combine("absent"), $"the directory '{_directory.Combine("absent")}' does not exist");

    [Test]
    public void Choose_WithAFile_IsTheOther()
    {
        File.WriteAllText(_directory.Combine("file"), "");

        AssertNotUsed(_directory.Combine("file"), $"'{_directory.Combine("file")}' is out of reach: ");
    }

    [Test]
    public void Choose_WithARelativePath_IsTheOther() =>
        AssertNotUsed("relative/path", "'relative/path' is no absolute path");

    [Test]
    public void Parse_OfANameAndAPath_HasTheAdviceForAClientThatFindsNoServer()
    {
        Environment.SetEnvironmentVariable(Variable, null);
        const string End = "; a server that was started with another one listens elsewhere: set RuntimeDirectory on "
            + "both.";

        Assert.That(
            Addresses.Parse("shm://acme", null).Advice, Is.EqualTo("XDG_RUNTIME_DIR is not set here" + End));
        Environment.SetEnvironmentVariable(Variable, _directory.Path);
        Assert.That(
            Addresses.Parse("shm://acme", null).Advice, Is.EqualTo("XDG_RUNTIME_DIR is set here" + End));
        Environment.SetEnvironmentVariable(Variable, _directory.Combine("absent"));
        Assert.That(
            Addresses.Parse("shm://acme", null).Advice,
            Is.EqualTo(
                $"XDG_RUNTIME_DIR is not used here, because the directory '{_directory.Combine("absent")}' does not "
                    + $"exist{End}"));
        Assert.That(
            Addresses.Parse("shm://acme", "/run/acme").Advice,
            Is.EqualTo("RuntimeDirectory is set here: it must be the same on both sides."));
        Assert.That(Addresses.Parse("shm:///run/acme/x", null).Advice, Is.Null);
    }

    [Test]
    public async Task ReportOnce_OfManyChoices_LogsEachReasonOnce_ToALogThatListens()
    {
        using var log = new LogGuard();
        foreach (string name in new[] { "first", "first", "second" })
        {
            Environment.SetEnvironmentVariable(Variable, _directory.Combine(name));
            DefaultDirectory chosen = DefaultDirectory.Choose();
            chosen.ReportOnce(NullLogger.Instance);
            chosen.ReportOnce(log);
        }

        Environment.SetEnvironmentVariable(Variable, _directory.Path);
        DefaultDirectory.Choose().ReportOnce(log);
        Environment.SetEnvironmentVariable(Variable, null);
        DefaultDirectory.Choose().ReportOnce(log);

        await Timeouts.Eventually(() => DeferredLog.IsEmpty);
        Assert.That(
            log.Entries.Select(entry => (entry.Id, entry.Level, entry.Message)),
            Is.EqualTo(new[] { Expected("first"), Expected("second") }));

        (int Id, LogLevel Level, string Message) Expected(string name) => (
            VariableNotUsed,
            LogLevel.Warning,
            $"XDG_RUNTIME_DIR is not used here, because the directory '{_directory.Combine(name)}' does not exist. "
                + $"Names (shm://name) are in {Temporary} instead, for clients and servers alike. Correct the "
                + "variable, or set RuntimeDirectory on both sides.");
    }

    // WSL and a logout remove the directory while programs run, and make it again later.
    [Test]
    public async Task Listener_AndItsClients_FollowTheChoice_WhateverHappensToTheDirectory()
    {
        string given = _directory.Combine("given");
        string temporary = Directory.CreateDirectory(_directory.Combine("temporary")).FullName;
        string temporarySocket = Path.Combine(temporary, Path.GetFileName(Temporary), "x.sock");
        string? before = Environment.GetEnvironmentVariable("TMPDIR");
        Environment.SetEnvironmentVariable("TMPDIR", temporary);
        Environment.SetEnvironmentVariable(Variable, given);
        using var log = new LogGuard();
        ConnectionSettings settings = LinkPair.Settings(ConnectionPurpose.Calls, Hellos.Limits, log);
        var links = new ConcurrentQueue<PeerLink>();
        try
        {
            var address = Addresses.Parse("shm://x", null);
            await using Listener listener = Listener.Start(address, settings, links.Enqueue);
            await AssertFoundAtAsync(temporarySocket);

            Directory.CreateDirectory(given);
            await AssertFoundAtAsync(Path.Combine(given, "rpcovershm/x.sock"));
            Assert.That(File.Exists(temporarySocket), Is.False, "It leaves nothing where nobody looks.");

            File.SetUnixFileMode(given, (UnixFileMode)0x1FF);
            await AssertFoundAtAsync(temporarySocket);
            Assert.That(Directory.GetFileSystemEntries(Path.Combine(given, "rpcovershm")), Is.Empty);

            async Task AssertFoundAtAsync(string path)
            {
                await Timeouts.Eventually(() => listener.Place == path);
                links.Enqueue(await ClientHandshake.ConnectAsync(address, settings, CancellationToken.None).Bounded());
                Assert.That(File.Exists(path));
            }
        }
        finally
        {
            Environment.SetEnvironmentVariable("TMPDIR", before);
            foreach (PeerLink link in links)
            {
                new RawPeer(link).Dispose();
            }
        }
    }

    private static void AssertUsed(string directory, string reason)
    {
        DefaultDirectory chosen = DefaultDirectory.Choose();

        Assert.That(
            (chosen.Directory, chosen.Reason, chosen.IsInsteadOfVariable), Is.EqualTo((directory, reason, false)));
    }

    private static void AssertNotUsed(string value, string problem)
    {
        Environment.SetEnvironmentVariable(Variable, value);

        DefaultDirectory chosen = DefaultDirectory.Choose();

        Assert.That((chosen.Directory, chosen.IsInsteadOfVariable), Is.EqualTo((Temporary, true)));
        Assert.That(chosen.Reason, Does.StartWith($"XDG_RUNTIME_DIR is not used here, because {problem}"));
    }
}
