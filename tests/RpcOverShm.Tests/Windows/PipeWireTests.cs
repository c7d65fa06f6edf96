using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;
using RpcOverShm.Windows;

namespace RpcOverShm.Tests.Windows;

/// <summary>Wires over named pipes: messages with handles, doorbells, ends, and hostile peers.</summary>
[WindowsFixture]
[SupportedOSPlatform("windows")]
public sealed unsafe class PipeWireTests : IDisposable
{
    private readonly PipePair _pair = new();
    private readonly SectionMemory _memory = SectionMemory.Create(4096);
    private readonly SemaphoreSignal _signal = new();

    private Wire Client => _pair.Client;

    private Wire Server => _pair.Server;

    public void Dispose()
    {
        _pair.Dispose();
        _memory.Dispose();
        _signal.Dispose();
    }

    [Test]
    public void Peer_OfBothSides_IsThisProcessAndItsUser()
    {
        foreach (Wire wire in (Wire[])[Client, Server])
        {
            Assert.That(wire.Peer.ProcessId, Is.EqualTo(Environment.ProcessId));
            Assert.That(wire.Peer.IsOwnUser);
            Assert.That(wire.IsMember(new Account("S-1-5-32-1")), Is.False);
            using WatchedProcess? process = wire.OpenProcess(out string? problem);
            Assert.That(problem, Is.Null);
            Assert.That(process!.HasExited, Is.False);
        }
    }

    [Test]
    public void Send_OfBothSides_PassesHandlesWithFewRights()
    {
        *(long*)_memory.Address = 42;
        Client.Send(new byte[100], [_memory.Handle, .. _signal.Offer]);
        _memory.ReleaseHandle(); // The wire has its own until the server has answered.

        CheckReceived(Server, 100);
        using var another = SectionMemory.Create(4096);
        *(long*)another.Address = 42;
        Server.Send(new byte[90], [another.Handle, .. _signal.Offer]);
        CheckReceived(Client, 90);
    }

    [Test]
    public void Receive_OfAMessageWithBytesBehindIt_LeavesThemToTheNext()
    {
        Server.Send([1, 2, 3], []);
        Server.Ring(7);

        Assert.That(PipePair.Receive(Client, 3), Is.EqualTo(new byte[] { 1, 2, 3 }));
        Assert.That(Client.IsReadable(0));
        Assert.That(PipePair.Receive(Client, 1), Is.EqualTo(new byte[] { 7 }));
        Assert.That(Client.IsReadable(0), Is.False);
        Assert.That(Client.Receive(new byte[1], []), Is.EqualTo(-1));
    }

    [Test]
    public void Send_TheSecondTime_HasNothingBeforeTheMessage()
    {
        Server.Send([1], []);
        Server.Send([2], []);

        Assert.That(PipePair.Receive(Client, 2), Is.EqualTo(new byte[] { 1, 2 }));
    }

    [Test]
    public void Close_AfterARefusal_LetsThePeerReadItAndThenTheEnd()
    {
        Server.Send(new byte[Hello.MaxSizeBytes], []);
        ForeignHandles.Shared.Close(Server);

        PipePair.Receive(Client, Hello.MaxSizeBytes);
        Assert.That(() => Client.Receive(new byte[1], []), Is.Zero.After(20_000, 1));
        Assert.That(Client.IsAtEnd);
        Assert.That(Client.Ring(1), Is.Null);
        Assert.That(() => Client.Send([1], []), Throws.InstanceOf<IOException>());
    }

    [Test]
    public void Members_AfterAClose_ThrowOrDoNothing()
    {
        Client.Dispose();
        Client.Dispose();

        Assert.That(() => Client.Receive(new byte[1], []), Throws.InstanceOf<ObjectDisposedException>());
        Assert.That(() => Client.IsReadable(1), Throws.InstanceOf<ObjectDisposedException>());
        Assert.That(() => Client.IsAtEnd, Throws.InstanceOf<ObjectDisposedException>());
        Assert.That(() => Client.OpenProcess(out _), Throws.InstanceOf<ObjectDisposedException>());
        Assert.That(Client.Ring(1), Is.Null);
        Assert.That(Client.ShutDown, Throws.Nothing);
    }

    [Test]
    public void Ring_WithoutAReader_EndsWithAFullPipe()
    {
        const int Rings = 10_000;
        Server.Send([1], []);
        for (int i = 0; i < Rings; i++)
        {
            Assert.That(Server.Ring(1), Is.Null);
        }

        Assert.That(() => Server.Send([2], []), Throws.InstanceOf<IOException>());
        int unread = 0;
        byte[] buffer = new byte[1024];
        while (Client.Receive(buffer, []) is > 0 and int count)
        {
            unread += count;
        }

        Assert.That(unread, Is.InRange(64, Rings - 1));
        Assert.That(Server.Ring(1), Is.Null);
        Assert.That(PipePair.Receive(Client, 1), Is.EqualTo(new byte[] { 1 }), "There is room again.");
    }

    [TestCase(-1L)] // the process
    [TestCase(-2L)] // its thread
    [TestCase(-3L)] // its session
    [TestCase(-4L)] // its token
    [TestCase(-5L)] // the token of its thread
    [TestCase(-6L)] // the token that counts
    [TestCase(0L)]
    [TestCase(uint.MaxValue + 1L)]
    [TestCase(long.MaxValue)]
    public void Receive_OfAPseudoHandle_Fails(long value) => AssertRefused([value], "none of a handle");

    [Test]
    public void Receive_OfAHandleOfAnotherType_Fails()
    {
        using KernelHandle other = KernelHandle.CreateEvent();

        AssertRefused([other.DangerousGetHandle()], "Section is right");
    }

    [Test]
    public void Receive_OfAHandleThatIsNone_Fails() => AssertRefused([0x7FF_FFF0], "Cannot take the handle");

    [Test]
    public void Receive_OfAnotherProgram_IsAViolation()
    {
        Handles.SendRaw(Client, "GET / HTTP/1.1\r\n\r\n"u8);

        Assert.That(
            () => PipePair.Receive(Server, 1),
            Throws.TypeOf<ProtocolException>().With.Message.Contains("handshake message"));
    }

    [Test]
    public void Receive_OfAnotherBitness_IsRefusedWithASentence()
    {
        byte[] prefix = new byte[HandOver.MostBytes];
        int count = HandOver.Write([], prefix);
        prefix[4] = 4;
        Handles.SendRaw(Client, [.. prefix[..count], 0]);

        Assert.That(
            () => PipePair.Receive(Server, 1),
            Throws.TypeOf<SegmentException>().With.Message.Contains("32 bits"));
    }

    [Test]
    public void Receive_OfPieces_WaitsForTheWhole()
    {
        byte[] prefix = new byte[HandOver.MostBytes];
        int count = HandOver.Write([], prefix);
        byte[] all = [.. prefix[..count], 9];
        foreach (byte one in all[..^1])
        {
            Handles.SendRaw(Client, [one]);
            Assert.That(Server.Receive(new byte[1], []), Is.EqualTo(-1));
        }

        Handles.SendRaw(Client, all.AsSpan(count));
        Assert.That(PipePair.Receive(Server, 1), Is.EqualTo(new byte[] { 9 }));
    }

    private void AssertRefused(long[] values, string sentence)
    {
        byte[] prefix = new byte[HandOver.MostBytes];
        int count = HandOver.Write(values, prefix);
        Handles.SendRaw(Client, [.. prefix[..count], 0]);

        Assert.That(
            () => PipePair.Receive(Server, 1),
            Throws.TypeOf<SegmentException>().With.Message.Contains(sentence));
    }

    private static void CheckReceived(Wire wire, int count)
    {
        List<SafeHandle> handles = [];
        PipePair.Receive(wire, count, handles);

        Assert.That(handles, Has.Count.EqualTo(3));
        Assert.That(Handles.CanHave(handles[0], Handles.SectionMapWrite), Is.False);
        Assert.That(Handles.CanTake(handles[1]), Is.False);
        using var memory = SectionMemory.Open(handles[0], 4096);
        Assert.That(*(long*)memory.Address, Is.EqualTo(42));
        handles.ForEach(static handle => handle.Dispose());
    }
}
