using System.Net.Sockets;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Linux;

/// <summary>A listener whose files are removed, replaced or moved by others while it listens.</summary>
[LinuxOnly("Files that others remove or replace; a pipe has none.")]
public class SocketDoorTests : ListenerFixture
{
    private const int ListeningAgain = 8;
    private const int SocketGone = 9;

    [Test]
    public async Task Check_AfterTheSocketWasRemoved_GoesOnAtTheSamePlace([Values] bool isDirectoryRemoved)
    {
        var logger = new LogGuard();
        await using Listener listener = Start(logger);
        PeerLink before = await ConnectAsync();

        if (isDirectoryRemoved)
        {
            System.IO.Directory.Delete(Directory.Combine("run"), recursive: true);
        }
        else
        {
            File.Delete(Files.SocketPath);
        }

        LogEntry entry = await logger.WaitForAsync(ListeningAgain);
        await ConnectAsync();
        Assert.That(entry.Message, Does.EndWith($"; the server listens again, at {Files.SocketPath}."));
        Assert.That(before.IsClosed, Is.False);
        Assert.That(RendezvousLock.TryTake(Files.LockPath, out int? holder), Is.Null, "The lock is held.");
        Assert.That(holder, Is.EqualTo(Environment.ProcessId));
        await listener.DisposeAsync();
        Assert.That(System.IO.Directory.GetFileSystemEntries(Directory.Combine("run")), Is.Empty);
    }

    [Test]
    public async Task Check_AfterTheSocketWasReplaced_LeavesTheOtherFileAloneAndSaysSo()
    {
        var logger = new LogGuard();
        logger.Expect(SocketGone);
        await using Listener listener = Start(logger);

        File.Delete(Files.SocketPath);
        File.WriteAllText(Files.SocketPath, "precious");

        LogEntry entry = await logger.WaitForAsync(SocketGone);
        Assert.That(entry.Message, Does.Contain("another file is there, which was left alone"));
        await listener.DisposeAsync();
        Assert.That(File.ReadAllText(Files.SocketPath), Is.EqualTo("precious"));
    }

    // As after a mount that hid the directory for a while.
    [Test]
    public async Task Check_AfterTheDirectoryWentAwayAndCameBack_GoesOnAtTheSamePlace()
    {
        string run = Directory.Combine("run");
        string away = Directory.Combine("away");
        var logger = new LogGuard();
        await using Listener listener = Start(logger);

        System.IO.Directory.Move(run, away);
        await Timeouts.Eventually(() => logger.Of(ListeningAgain).Count == 1);
        await ConnectAsync();
        System.IO.Directory.Delete(run, recursive: true);
        System.IO.Directory.Move(away, run);
        await Timeouts.Eventually(() => logger.Of(ListeningAgain).Count == 2);

        await ConnectAsync();
        Assert.That(RendezvousLock.TryTake(Files.LockPath, out _), Is.Null, "The lock is held.");
        await listener.DisposeAsync();
        Assert.That(System.IO.Directory.GetFileSystemEntries(run), Is.Empty);
    }

    // The other one has the same process id here, as two servers in different containers may have.
    [Test]
    public async Task Check_AfterAnotherServerTookTheLock_LeavesTheAddressToIt_WhateverItsProcessId()
    {
        string run = Directory.Combine("run");
        var logger = new LogGuard();
        logger.Expect(SocketGone);
        await using Listener listener = Start(logger);

        string next = System.IO.Directory.CreateDirectory(Directory.Combine("next"), (UnixFileMode)0x1C0).FullName;
        using RendezvousLock? held = RendezvousLock.TryTake(Path.Combine(next, "x.lock"), out _);
        System.IO.Directory.Move(run, Directory.Combine("away"));
        System.IO.Directory.Move(next, run);

        LogEntry entry = await logger.WaitForAsync(SocketGone);
        Assert.That(entry.Message, Does.Contain("another server has taken the address"));
        Assert.That(File.Exists(Files.SocketPath), Is.False);
    }

    [Test]
    public async Task Check_AfterAnotherProgramListensThere_LeavesItAlone()
    {
        var logger = new LogGuard();
        logger.Expect(SocketGone);
        await using Listener listener = Start(logger);

        File.Delete(Files.SocketPath);
        using Socket other = UnixSockets.Listen(Files.SocketPath, backlog: 1);

        LogEntry entry = await logger.WaitForAsync(SocketGone);
        Assert.That(entry.Message, Does.Contain("another program listens there"));
        Assert.That(other.Poll(0, SelectMode.SelectRead), Is.False, "nobody has connected to it");
        Assert.That(RendezvousLock.TryTake(Files.LockPath, out _), Is.Null, "The lock is held.");
    }
}
