using System.Diagnostics;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Links;

[NonParallelizable]
public partial class ProcessWatchTests
{
    private const int PidfdOpen = 434;

    private readonly ProcessWatch _watch = new();
    private readonly EventLoop _loop = new();
    private readonly List<Process> _children = [];
    private readonly List<IDisposable> _watches = [];

    [TearDown]
    public void End()
    {
        _watches.ForEach(watch => watch.Dispose());
        foreach (Process child in _children)
        {
            child.Kill();
            child.Dispose();
        }

        BackgroundThread.Refuses = null;

        Assert.That(() => ProcessResources.CountDescriptors("pidfd"), Is.Zero.After(20_000, 5));
        Assert.That(_loop.Count, Is.Zero);
    }

    [Test]
    public void Exit_OfAWatchedProcess_RunsEveryActionOnceAndNoOther()
    {
        Process mortal = StartChild();
        Process survivor = StartChild();
        int[] runs = new int[3];
        Watch(Describe(mortal), () => Interlocked.Increment(ref runs[0]));
        Watch(Describe(mortal), () => Interlocked.Increment(ref runs[1]));
        Watch(Describe(survivor), () => Interlocked.Increment(ref runs[2]));
        Assert.That(ProcessResources.CountDescriptors("pidfd"), Is.EqualTo(2));
        Assert.That(_loop.Count, Is.EqualTo(2));

        mortal.Kill();

        Assert.That(() => Volatile.Read(ref runs[0]) + Volatile.Read(ref runs[1]), Is.EqualTo(2).After(20_000, 5));
        Assert.That(() => ProcessResources.CountDescriptors("pidfd"), Is.EqualTo(1).After(20_000, 5));
        Assert.That(runs, Is.EqualTo(new[] { 1, 1, 0 }));
    }

    [Test]
    public void TryWatch_WithoutAThread_SaysSo_AndWorksLater()
    {
        Process mortal = StartChild();
        BackgroundThread.Refuses = name => name == "RpcOverShm loop";
        using ProcessDescriptor process = Describe(mortal);

        IDisposable? none = _watch.TryWatch(process, _loop, () => { }, out string? problem);
        BackgroundThread.Refuses = null;
        using var isRun = new ManualResetEventSlim();
        Watch(Describe(mortal), isRun.Set);
        mortal.Kill();

        Assert.That(none, Is.Null);
        Assert.That(problem, Does.Contain("(No thread could be started"));
        Assert.That(isRun.Wait(Timeouts.Wait));
    }

    [Test]
    public void Exit_BeforeTheWatch_RunsTheAction()
    {
        Process dead = StartChild();
        ProcessDescriptor process = Describe(dead);
        dead.Kill();
        dead.WaitForExit();
        using var isRun = new ManualResetEventSlim();

        Watch(process, isRun.Set);

        Assert.That(isRun.Wait(Timeouts.Wait));
    }

    [Test]
    public void Exit_AfterTheEndOfTheWatch_RunsNoAction()
    {
        Process child = StartChild();
        bool isRun = false;
        using var isOtherRun = new ManualResetEventSlim();
        IDisposable watch = Watch(Describe(child), () => isRun = true);
        Watch(Describe(child), isOtherRun.Set);

        watch.Dispose();
        watch.Dispose();
        child.Kill();

        Assert.That(isOtherRun.Wait(Timeouts.Wait));
        Assert.That(isRun, Is.False);
    }

    [Test]
    public void Watch_AfterAnotherOneHasEnded_BeginsAnew()
    {
        Process child = StartChild();
        for (int i = 0; i < 3; i++)
        {
            Watch(Describe(child), () => { }).Dispose();
            Assert.That(ProcessResources.CountDescriptors("pidfd"), Is.Zero);
            Assert.That(_loop.Count, Is.Zero);
        }

        using var isRun = new ManualResetEventSlim();
        Watch(Describe(child), isRun.Set);
        child.Kill();

        Assert.That(isRun.Wait(Timeouts.Wait));
    }

    [Test]
    public void Watch_OfAProcessWithTheIdOfADeadOne_IsNotMistakenForIt()
    {
        // Holds the thread, so that the dead process is still known.
        using var isHeld = new ManualResetEventSlim();
        using var mayGo = new ManualResetEventSlim();
        Process first = StartChild();
        Watch(Describe(first), () =>
        {
            isHeld.Set();
            mayGo.Wait();
        });
        first.Kill();
        Assert.That(isHeld.Wait(Timeouts.Wait));

        var key = new ProcessKey(1, 2, 3);
        Process dead = StartChild();
        Process reborn = StartChild();
        using var isDeadRun = new ManualResetEventSlim();
        using var isRebornRun = new ManualResetEventSlim();
        Watch(new ProcessDescriptor(Open(dead), key), isDeadRun.Set);
        dead.Kill();
        dead.WaitForExit();
        Watch(new ProcessDescriptor(Open(reborn), key), isRebornRun.Set);
        mayGo.Set();

        Assert.That(isDeadRun.Wait(Timeouts.Wait));
        Assert.That(isRebornRun.IsSet, Is.False);
        reborn.Kill();
        Assert.That(isRebornRun.Wait(Timeouts.Wait));
    }

    [Test]
    public void OfPeer_OfAConnectedSocket_IsTheOtherProcess()
    {
        using var sockets = new SocketPair();

        using ProcessDescriptor? process =
            ProcessDescriptor.OfPeer(sockets.Server, Environment.ProcessId, out string? problem);

        Assert.That(problem, Is.Null);
        using var own = new ProcessDescriptor(Open(Process.GetCurrentProcess()), default);
        Assert.That(process!.Key.Unique, Is.EqualTo(FileFacts.OfDescriptor(own.Handle).Inode));
        Assert.That(process.HasExited, Is.False);
    }

    [Test]
    public void OfPeer_OfAnotherPidNamespace_IsToldApartByItsInode()
    {
        using var sockets = new SocketPair();

        using ProcessDescriptor? process = ProcessDescriptor.OfPeer(sockets.Server, 0, out string? problem);

        // Before Linux 6.9 all descriptors have the same inode.
        Assert.That(process is null, Is.EqualTo(!OperatingSystem.IsOSPlatformVersionAtLeast("Linux", 6, 9)), problem);
    }

    [Test]
    public void OfPeer_WithoutAPeer_SaysWhy()
    {
        using Socket socket = UnixSockets.New();

        Assert.That(ProcessDescriptor.OfPeer(socket, 1, out string? problem), Is.Null);

        Assert.That(problem, Does.StartWith("the kernel gives no descriptor of it ("));
    }

    private IDisposable Watch(ProcessDescriptor process, Action onExit)
    {
        IDisposable watch = _watch.TryWatch(process, _loop, onExit, out string? problem)
            ?? throw new InvalidOperationException(problem);
        _watches.Add(watch);
        return watch;
    }

    private Process StartChild()
    {
        // It ends with this process, whose end closes its standard input.
        var child = Process.Start(new ProcessStartInfo("cat") { RedirectStandardInput = true })!;
        _children.Add(child);
        return child;
    }

    private static ProcessDescriptor Describe(Process process)
    {
        SafeFileHandle handle = Open(process);
        var facts = FileFacts.OfDescriptor(handle);
        return new ProcessDescriptor(handle, new ProcessKey(process.Id, facts.Inode, facts.Device));
    }

    private static SafeFileHandle Open(Process process)
    {
        nint descriptor = OpenProcess(PidfdOpen, process.Id, 0);
        Assert.That((long)descriptor, Is.Positive);
        return new SafeFileHandle(descriptor, ownsHandle: true);
    }

    [LibraryImport("libc", EntryPoint = "syscall", SetLastError = true)]
    private static partial nint OpenProcess(nint number, nint processId, nint flags);
}
