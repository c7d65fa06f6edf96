using RpcOverShm.FunctionalTests.TwoProcess;

namespace RpcOverShm.FunctionalTests.Access;

/// <summary>A server and a client whose runtime directory is on a file system without a free byte.</summary>
[RootFixture]
[OneMode]
internal sealed class FullFileSystemTests : PeerFixture
{
    // The mount is in a namespace of the peer, so it ends with the peer. The two checks prove that it is full.
    private const string FillAndRun =
        """
        mount -t tmpfs -o size=64k,mode=700 none "$0" || exit 1
        mkdir -m 700 "$0/run"
        head -c 1M /dev/zero > "$0/fill" && exit 2
        (echo > "$0/more") && exit 3
        rm "$0/more"
        exec "$@"
        """;

    [Test]
    public async Task Server_StartsAndServesAndStops_WithoutItsProcessIdInTheLock()
    {
        string full = System.IO.Directory.CreateDirectory(Directory.Combine("full")).FullName;
        PeerProcess peer = await StartInFullAsync(full);
        string run = Path.Combine(full, "run");

        await peer.DoAsync($"serve {Address} {run}");
        await peer.DoAsync($"channel {Address} {run}");
        string answer = await peer.DoAsync("echo 1000");
        string seen = $"/proc/{peer.Id}/root{run}";
        string[] files = [.. System.IO.Directory.EnumerateFiles(seen).Select(path => Path.GetFileName(path)!).Order()];
        long lockBytes = new FileInfo(Path.Combine(seen, LockName)).Length;
        await peer.DoAsync("stop");

        Assert.That(answer, Is.EqualTo("right"));
        Assert.That(files, Is.EqualTo(new[] { LockName, SocketName }));
        Assert.That(lockBytes, Is.Zero);
        Assert.That(System.IO.Directory.EnumerateFileSystemEntries(seen), Is.Empty);
    }

    // The same file system as before, without the file that filled it: the id is missing, and the lock still holds.
    [Test]
    public async Task Second_WhereTheFirstHadNoSpaceForItsId_IsRefused()
    {
        string full = System.IO.Directory.CreateDirectory(Directory.Combine("full")).FullName;
        PeerProcess first = await StartInFullAsync(full);
        await first.DoAsync($"serve {Address} {full}/run");
        string seen = $"/proc/{first.Id}/root{full}/run";
        PeerProcess second = await StartPeerAsync();

        string answer = await second.AskAsync($"serve {Address} {seen}");

        Assert.That(answer, Does.StartWith("error ShmTransportException").And.Contain(
            "A server of another process already listens at"));
    }

    private async Task<PeerProcess> StartInFullAsync(string directory)
    {
        string[] command = PeerProcess.CommandOf(AppContext.BaseDirectory, "RpcOverShm.TestPeer");
        PeerProcess peer = await PeerProcess.StartProgramAsync(
            "unshare", ["--mount", "sh", "-c", FillAndRun, directory, .. command]);
        Adopt(peer);
        return peer;
    }
}
