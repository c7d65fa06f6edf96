using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Links;

[NonParallelizable]
public class ProcessWatchTests
{
    private readonly ProcessWatch _watch = new();
    private readonly EventLoop _loop = new();
    private readonly List<ProcessChild> _children = [];
    private readonly List<IDisposable> _watches = [];

    [TearDown]
    public void End()
    {
        _watches.ForEach(watch => watch.Dispose());
        foreach (ProcessChild child in _children)
        {
            child.Dispose();
        }

        BackgroundThread.Refuses = null;

        AssertOpen(0);
        Assert.That(_loop.Count, Is.Zero);
    }

    [Test]
    public void Exit_OfAWatchedProcess_RunsEveryActionOnceAndNoOther()
    {
        ProcessChild mortal = StartChild();
        ProcessChild survivor = StartChild();
        int[] runs = new int[3];
        Watch(mortal.Open(), () => Interlocked.Increment(ref runs[0]));
        Watch(mortal.Open(), () => Interlocked.Increment(ref runs[1]));
        Watch(survivor.Open(), () => Interlocked.Increment(ref runs[2]));
        AssertOpen(2);
        Assert.That(_loop.Count, Is.EqualTo(2));

        mortal.Kill();

        Assert.That(() => Volatile.Read(ref runs[0]) + Volatile.Read(ref runs[1]), Is.EqualTo(2).After(20_000, 5));
        AssertOpen(1);
        Assert.That(runs, Is.EqualTo(new[] { 1, 1, 0 }));
    }

    [Test]
    public void TryWatch_WithoutAThread_SaysSo_AndWorksLater()
    {
        ProcessChild mortal = StartChild();
        BackgroundThread.Refuses = name => name == "RpcOverShm loop";
        using WatchedProcess process = mortal.Open();

        IDisposable? none = _watch.TryWatch(process, _loop, () => { }, out string? problem);
        BackgroundThread.Refuses = null;
        using var isRun = new ManualResetEventSlim();
        Watch(mortal.Open(), isRun.Set);
        mortal.Kill();

        Assert.That(none, Is.Null);
        Assert.That(problem, Does.Contain("(No thread could be started"));
        Assert.That(isRun.Wait(Timeouts.Wait));
    }

    [Test]
    public void Exit_BeforeTheWatch_RunsTheAction()
    {
        ProcessChild dead = StartChild();
        WatchedProcess process = dead.Open();
        dead.Kill();
        using var isRun = new ManualResetEventSlim();

        Watch(process, isRun.Set);

        Assert.That(isRun.Wait(Timeouts.Wait));
    }

    [Test]
    public void Exit_AfterTheEndOfTheWatch_RunsNoAction()
    {
        ProcessChild child = StartChild();
        bool isRun = false;
        using var isOtherRun = new ManualResetEventSlim();
        IDisposable watch = Watch(child.Open(), () => isRun = true);
        Watch(child.Open(), isOtherRun.Set);

        watch.Dispose();
        watch.Dispose();
        child.Kill();

        Assert.That(isOtherRun.Wait(Timeouts.Wait));
        Assert.That(isRun, Is.False);
    }

    [Test]
    public void Watch_AfterAnotherOneHasEnded_BeginsAnew()
    {
        ProcessChild child = StartChild();
        for (int i = 0; i < 3; i++)
        {
            Watch(child.Open(), () => { }).Dispose();
            AssertOpen(0);
            Assert.That(_loop.Count, Is.Zero);
        }

        using var isRun = new ManualResetEventSlim();
        Watch(child.Open(), isRun.Set);
        child.Kill();

        Assert.That(isRun.Wait(Timeouts.Wait));
    }

    [Test, LinuxOnly("Descriptors of processes with a forged key.")]
    public void Watch_OfAProcessWithTheIdOfADeadOne_IsNotMistakenForIt()
    {
        // Holds the thread, so that the dead process is still known.
        using var isHeld = new ManualResetEventSlim();
        using var mayGo = new ManualResetEventSlim();
        ProcessChild first = StartChild();
        Watch(first.Open(), () =>
        {
            isHeld.Set();
            mayGo.Wait();
        });
        first.Kill();
        Assert.That(isHeld.Wait(Timeouts.Wait));

        var key = new ProcessKey(1, 2, 3);
        ProcessChild dead = StartChild();
        ProcessChild reborn = StartChild();
        using var isDeadRun = new ManualResetEventSlim();
        using var isRebornRun = new ManualResetEventSlim();
        Watch(new ProcessDescriptor(dead.OpenDescriptor(), key), isDeadRun.Set);
        dead.Kill();
        Watch(new ProcessDescriptor(reborn.OpenDescriptor(), key), isRebornRun.Set);
        mayGo.Set();

        Assert.That(isDeadRun.Wait(Timeouts.Wait));
        Assert.That(isRebornRun.IsSet, Is.False);
        reborn.Kill();
        Assert.That(isRebornRun.Wait(Timeouts.Wait));
    }

    private IDisposable Watch(WatchedProcess process, Action onExit)
    {
        IDisposable watch = _watch.TryWatch(process, _loop, onExit, out string? problem)
            ?? throw new InvalidOperationException(problem);
        _watches.Add(watch);
        return watch;
    }

    private ProcessChild StartChild()
    {
        var child = ProcessChild.Start();
        _children.Add(child);
        return child;
    }

    // Windows does not tell handles of processes apart.
    private static void AssertOpen(int processes) => Assert.That(
        () => OperatingSystem.IsWindows() ? processes : ProcessResources.CountDescriptors("pidfd"),
        Is.EqualTo(processes).After(20_000, 5));
}
