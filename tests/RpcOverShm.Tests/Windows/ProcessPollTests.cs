using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Windows;

/// <summary>The poll of an event loop with processes, which the one for doors does not watch.</summary>
[WindowsFixture]
[SupportedOSPlatform("windows")]
public sealed class ProcessPollTests : IDisposable
{
    private readonly PollThread _poll = new(isDoor: false);
    private readonly SemaphoreSlim _told = new(0);
    private readonly PeerOfTest _child = PeerOfTest.Start();
    private readonly WatchedProcess _process;

    public ProcessPollTests() => _process = _child.Open();

    public void Dispose()
    {
        _poll.Remove(_process);
        _poll.Dispose();
        _process.Dispose();
        _child.Dispose();
        _told.Dispose();
    }

    [Test]
    public void Wait_WithTheEndOfAProcess_TellsIt()
    {
        _poll.Add(_process, _ => _told.Release());
        Assert.That(_told.Wait(20), Is.False);

        _child.Kill();

        Assert.That(_told.Wait(Timeouts.Wait));
        Assert.That(_process.HasExited);
    }

    [Test]
    public void Add_OfAProcessThatHasEnded_TellsIt()
    {
        _child.Kill();

        _poll.Add(_process, _ => _told.Release());

        Assert.That(_told.Wait(Timeouts.Wait));
    }

    [Test]
    public void Add_ToAPollForDoors_IsRefused()
    {
        using EventPoll poll = HostSystem.Current.TryCreatePoll(isDoor: true)!;

        Assert.That(poll.Add(_process, 1), Does.Contain("only event loops"));
    }
}
