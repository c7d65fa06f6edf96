using System.Net.Sockets;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Linux;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Linux;

[LinuxOnly("Descriptors in messages of a socket.")]
public class DescriptorPassingTests
{
    private const int MostDescriptors = 16;

    private readonly SocketPair _sockets = new();
    private readonly List<SafeHandle> _received = [];
    private readonly byte[] _buffer = new byte[64];

    [TearDown]
    public void CloseAll()
    {
        _received.ForEach(descriptor => descriptor.Dispose());
        _sockets.Dispose();
    }

    [Test]
    public void Receive_OfMessageWithoutDescriptor_HasTheBytesAndNone()
    {
        DescriptorPassing.Send(_sockets.Client.SafeHandle, "hello"u8, []);

        int count = Receive();

        Assert.That(_buffer[..count], Is.EqualTo("hello"u8.ToArray()));
        Assert.That(_received, Is.Empty);
    }

    [Test]
    public void Receive_OfMessageWithDescriptor_HasAnotherDescriptorOfTheSameFile()
    {
        using SafeFileHandle file = Descriptors.MemoryFile(4096, 0);
        DescriptorPassing.Send(_sockets.Client.SafeHandle, "x"u8, [file]);

        int count = Receive();

        Assert.That(count, Is.EqualTo(1));
        Assert.That(_received, Has.Count.EqualTo(1));
        Assert.That(_received[0].DangerousGetHandle(), Is.Not.EqualTo(file.DangerousGetHandle()));
        Assert.That(FileFacts.OfDescriptor(_received[0]).IsSameFileAs(FileFacts.OfDescriptor(file)));
    }

    // Without the option the kernel would drop the byte in a receive of the next one, and close its descriptor there.
    [Test]
    public void Receive_OfUrgentData_HasItsDescriptorToo()
    {
        const int MsgOob = 1;
        using SafeFileHandle file = Descriptors.MemoryFile(4096, 0);
        RawDescriptorSender.Send(_sockets.Client, MsgOob, "u"u8, file);
        RawDescriptorSender.Send(_sockets.Client, "x"u8);

        int bytes = 0;
        while (bytes < 2)
        {
            bytes += Receive();
        }

        Assert.That(_received, Has.Count.EqualTo(1));
        Assert.That(FileFacts.OfDescriptor(_received[0]).IsSameFileAs(FileFacts.OfDescriptor(file)));
    }

    [Test]
    public void Receive_OfDescriptor_IsClosedByAnExec()
    {
        const int GetDescriptorFlags = 1;
        using SafeFileHandle file = Descriptors.MemoryFile(4096, 0);
        DescriptorPassing.Send(_sockets.Client.SafeHandle, "x"u8, [file]);
        Receive();

        Assert.That(LinuxNative.FCntl(_received[0], GetDescriptorFlags, 0), Is.EqualTo(1));
    }

    [Test]
    public void Receive_OfMessageInTwoParts_HasTheDescriptorWithTheFirst()
    {
        using SafeFileHandle file = Descriptors.MemoryFile(4096, 0);
        DescriptorPassing.Send(_sockets.Client.SafeHandle, "hello"u8, [file]);

        int first = DescriptorPassing.Receive(_sockets.Server.SafeHandle, _buffer.AsSpan(0, 2), _received);
        int count = _received.Count;
        int second = DescriptorPassing.Receive(_sockets.Server.SafeHandle, _buffer.AsSpan(2), _received);

        Assert.That((first, count, second), Is.EqualTo((2, 1, 3)));
        Assert.That(_received, Has.Count.EqualTo(1));
    }

    [TestCase(2)]
    [TestCase(MostDescriptors)]
    public void Receive_OfSurplusDescriptors_HandsAllOfThemToBeClosed(int count)
    {
        using SafeFileHandle file = Descriptors.MemoryFile(4096, 0);
        int before = ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget);
        RawDescriptorSender.SendMany(_sockets.Client, "x"u8, file, count);

        Receive();
        int afterReceive = ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget);
        _received.ForEach(descriptor => descriptor.Dispose());

        Assert.That(_received, Has.Count.EqualTo(count));
        Assert.That(afterReceive, Is.EqualTo(before + count));
        Assert.That(ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget), Is.EqualTo(before));
    }

    [Test]
    public void Receive_OfMoreDescriptorsThanFit_RefusesThemAndLeaksNone()
    {
        using SafeFileHandle file = Descriptors.MemoryFile(4096, 0);
        int before = ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget);
        RawDescriptorSender.Send(
            _sockets.Client, "x"u8, [.. Enumerable.Repeat<SafeHandle>(file, MostDescriptors + 5)]);

        Assert.That(Receive, Throws.TypeOf<SegmentException>().With.Message.Contains("more than 16 descriptors"));
        _received.ForEach(descriptor => descriptor.Dispose());

        Assert.That(ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget), Is.EqualTo(before));
    }

    [Test]
    public void Receive_WhenNothingIsThere_DoesNotWait()
    {
        Assert.That(Receive(), Is.EqualTo(-1));
    }

    [Test]
    public void Receive_AfterThePeersClose_IsZero()
    {
        _sockets.Client.Dispose();

        Assert.That(Receive(), Is.Zero);
    }

    [Test]
    public void IsAtEnd_OfAnOpenSocket_IsFalseAndTakesNothing()
    {
        Assert.That(DescriptorPassing.IsAtEnd(_sockets.Server.SafeHandle), Is.False);

        DescriptorPassing.Send(_sockets.Client.SafeHandle, "x"u8, []);

        Assert.That(DescriptorPassing.IsAtEnd(_sockets.Server.SafeHandle), Is.False);
        Assert.That(Receive(), Is.EqualTo(1));
    }

    [Test]
    public void IsAtEnd_AfterThePeersClose_IsTrueOnceAllIsReceived()
    {
        DescriptorPassing.Send(_sockets.Client.SafeHandle, "x"u8, []);
        _sockets.Client.Dispose();

        Assert.That(DescriptorPassing.IsAtEnd(_sockets.Server.SafeHandle), Is.False);
        Receive();
        Assert.That(DescriptorPassing.IsAtEnd(_sockets.Server.SafeHandle));
    }

    [Test]
    public void IsAtEnd_AfterAReset_IsTrue()
    {
        DescriptorPassing.Send(_sockets.Server.SafeHandle, "unread"u8, []);
        _sockets.Client.Dispose();

        Assert.That(DescriptorPassing.IsAtEnd(_sockets.Server.SafeHandle));
    }

    [Test]
    public async Task Receive_OnASocketThatWasUsedAsynchronously_Works()
    {
        ValueTask<int> readable = _sockets.Server.ReceiveAsync(Memory<byte>.Empty, CancellationToken.None);
        DescriptorPassing.Send(_sockets.Client.SafeHandle, "hi"u8, []);
        await readable.Bounded();

        Assert.That(Receive(), Is.EqualTo(2));
    }

    [Test]
    public void Send_ToAPeerThatHasClosed_IsAnIOException()
    {
        _sockets.Server.Dispose();

        Assert.That(
            () => DescriptorPassing.Send(_sockets.Client.SafeHandle, "x"u8, []),
            Throws.TypeOf<IOException>().With.Message.Contains("Cannot write"));
    }

    [Test]
    public void Send_IntoAStuffedSocket_IsAnIOExceptionAndDoesNotWait()
    {
        _sockets.Client.Blocking = false;
        byte[] lots = new byte[64 << 10];
        while (_sockets.Client.Send(lots, SocketFlags.None, out SocketError error) > 0 && error == SocketError.Success)
        {
            // Until the kernel takes no more.
        }

        Assert.That(
            () => DescriptorPassing.Send(_sockets.Client.SafeHandle, lots, []),
            Throws.TypeOf<WireFullException>());
    }

    [Test]
    public void Send_OfAClosedDescriptor_IsRefusedAndSendsNothing()
    {
        SafeFileHandle file = Descriptors.MemoryFile(4096, 0);
        file.Dispose();

        Assert.That(
            () => DescriptorPassing.Send(_sockets.Client.SafeHandle, "x"u8, [file]),
            Throws.TypeOf<ObjectDisposedException>());
        Assert.That(Receive(), Is.EqualTo(-1));
    }

    private int Receive() => DescriptorPassing.Receive(_sockets.Server.SafeHandle, _buffer, _received);
}
