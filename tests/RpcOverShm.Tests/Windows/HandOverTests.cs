using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>
/// Handles on their way between processes: those that nobody receives, those with too few rights or of another type,
/// and clients from which the server may take none.
/// </summary>
[WindowsFixture]
[SupportedOSPlatform("windows")]
public sealed class HandOverTests : IDisposable
{
    private const string Watching = "0x101000"; // to wait for the process, and to ask about it

    private readonly PipePair _pair = new();
    private readonly SectionMemory _memory = SectionMemory.Create(4096);
    private readonly SemaphoreSignal _signal = new();

    private Wire Client => _pair.Client;

    private Wire Server => _pair.Server;

    private SafeHandle[] All => [_memory.Handle, .. _signal.Offer];

    public void Dispose()
    {
        _pair.Dispose();
        _memory.Dispose();
        _signal.Dispose();
    }

    [Test]
    public void Send_OfAnAnswerToAClientThatHasClosed_LeavesNothingInItsProcess()
    {
        Assert.That(Server.Peer.IsOwnUser);
        Client.Dispose();

        Assert.That(() => Server.Send(new byte[90], All), Throws.InstanceOf<IOException>());

        Assert.That(All.Select(Handles.CountOf), Is.All.EqualTo(1));
    }

    [Test]
    public void Send_ThatFailsPartWay_TakesBackWhatItHasPassed()
    {
        using var none = new KernelHandle(0x7FF_FFF0, WindowsNative.Synchronize);

        Assert.That(
            () => Server.Send(new byte[90], [.. All, none]),
            Throws.TypeOf<SegmentException>().With.Message.Contains("Cannot pass a handle"));

        Assert.That(All.Select(Handles.CountOf), Is.All.EqualTo(1));
        none.SetHandleAsInvalid();
    }

    // With a watch, its read has taken the answer out of the pipe.
    [TestCase(false)]
    [TestCase(true)]
    public void ShutDown_OfAClientThatHasNotReadItsAnswer_ClosesTheHandles(bool isWatched)
    {
        if (isWatched)
        {
            using var told = new SemaphoreSlim(0);
            _pair.DoorThread.Add(Client, _ => told.Release());
            Server.Send(new byte[90], All);
            Assert.That(told.Wait(Timeouts.Wait));
            _pair.DoorThread.Remove(Client);
        }
        else
        {
            Server.Send(new byte[90], All);
        }

        Assert.That(All.Select(Handles.CountOf), Is.All.EqualTo(2));

        Client.ShutDown();

        Assert.That(All.Select(Handles.CountOf), Is.All.EqualTo(1));
    }

    [TestCase(WindowsNative.SectionQuery, "0x1, and 0x5")]
    [TestCase(WindowsNative.SectionMapRead, "0x4, and 0x5")]
    public void Receive_OfASectionWithFewerRights_IsRefused(uint rights, string sentence)
    {
        using KernelHandle whole = Handles.Section(WindowsNative.SectionCommit, 4096);
        using KernelHandle few = Handles.With(whole, rights);

        AssertRefused($"the rights {sentence} are required", few);
    }

    [Test]
    public void Receive_OfASemaphoreThatCannotBeReleased_IsRefused()
    {
        using KernelHandle ofPeer = Handles.OfPeer(_memory.Handle);
        using KernelHandle whole = Handles.Semaphore();
        using KernelHandle few = Handles.With(whole, WindowsNative.Synchronize);

        AssertRefused("and 0x2 are required", ofPeer, few);
    }

    [TestCase("File")]
    [TestCase("Event")]
    [TestCase("Token")]
    [TestCase("Process")]
    [TestCase("Semaphore")]
    public void Receive_OfAnotherTypeThanASection_IsRefused(string type)
    {
        using KernelHandle other = Handles.OfType(type);

        AssertRefused($"the type {type}; Section is right", other);
    }

    [TestCase("File")]
    [TestCase("Event")]
    [TestCase("Token")]
    [TestCase("Process")]
    [TestCase("Section")]
    public void Receive_OfAnotherTypeThanASemaphore_IsRefused(string type)
    {
        using KernelHandle ofPeer = Handles.OfPeer(_memory.Handle);
        using KernelHandle other = Handles.OfType(type);
        Assert.That(Server.Peer.IsOwnUser); // It has a handle of the process from now on.
        int before = Handles.CountOf(other);

        AssertRefused($"the type {type}; Semaphore is right", ofPeer, other);

        Assert.That(() => Handles.CountOf(other), Is.EqualTo(before).After(20_000, 10));
    }

    [Test]
    public void Peer_OfAProcessThatBeganAfterTheAccept_IsRefused()
    {
        using var process = System.Diagnostics.Process.GetCurrentProcess();
        long begun = process.StartTime.ToFileTimeUtc();

        Assert.That(
            () => PipePeer.OfClient((KernelHandle)Server.Handle, begun - 1),
            Throws.InstanceOf<IOException>().With.Message.Contains("began after the client had connected"));
        using PipePeer peer = PipePeer.OfClient((KernelHandle)Server.Handle, begun);
        Assert.That(peer.Identity.ProcessId, Is.EqualTo(Environment.ProcessId));
    }

    [Test]
    public void Peer_OfAnotherProcess_IsThatProcess()
    {
        using var client = PeerOfTest.Start(_pair.Address.Place);
        using Wire wire = _pair.Take();

        Assert.That(wire.Peer.ProcessId, Is.EqualTo(client.Id));
        Assert.That(wire.Peer.IsOwnUser);
    }

    [Test]
    public void Peer_OfAProcessThatMayNotBeOpened_IsRefusedWithASentence()
    {
        using var client = PeerOfTest.Start(_pair.Address.Place);
        using Wire wire = _pair.Take();
        client.Restrict("D:P");

        Assert.That(
            () => wire.Peer,
            Throws.InstanceOf<IOException>()
                .With.Message.Contains($"may not open process {client.Id}").And.Message.Contains("elevated"));
    }

    [Test]
    public void Push_ToAProcessThatMayOnlyBeWatched_IsRefusedWithASentence()
    {
        using var client = PeerOfTest.Start(_pair.Address.Place);
        using Wire wire = _pair.Take();
        client.Restrict($"D:P(A;;{Watching};;;WD)");

        Assert.That(wire.Peer.ProcessId, Is.EqualTo(client.Id));
        Assert.That(
            () => wire.Send(new byte[90], All),
            Throws.TypeOf<SegmentException>().With.Message.Contains($"may not open process {client.Id}"));
        using WatchedProcess? process = wire.OpenProcess(out string? problem);
        Assert.That(problem, Is.Null);
    }

    private void AssertRefused(string sentence, params KernelHandle[] handles)
    {
        byte[] prefix = new byte[HandOver.MostBytes];
        int count = HandOver.Write([.. handles.Select(static one => (long)one.DangerousGetHandle())], prefix);
        Handles.SendRaw(Client, [.. prefix[..count], 0]);

        List<SafeHandle> taken = [];
        Assert.That(
            () => PipePair.Receive(Server, 1, taken),
            Throws.TypeOf<SegmentException>().With.Message.Contains(sentence));
        taken.ForEach(static one => one.Dispose());
    }
}
