using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Linux;

namespace RpcOverShm.Tests.Links;

/// <summary>Messages of the handshake in pieces, with wrong descriptors, and of other protocols.</summary>
[LinuxOnly("What a peer writes to a socket, and the descriptors that it passes. PipeWireTests has the like of pipes.")]
public class RawHandshakeTests
{
    private readonly SocketPair _sockets = new();
    private readonly int _descriptorsBefore = ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget);

    [TearDown]
    public void Close() => _sockets.Dispose();

    [Test]
    public async Task ReceiveAsync_OfAHello_HasItsFieldsAndItsDescriptor()
    {
        Hello hello = Hellos.Client;
        Hellos.Send(_sockets.Client, hello.Encode(), Hellos.GoodDescriptor());

        using Handshake.ReceivedHello? received = await ReceiveAsync();

        Assert.That(received!.Hello, Is.EqualTo(hello));
        Assert.That(FileFacts.OfDescriptor(received.Handles.Single()).SizeBytes, Is.EqualTo(4096 + Hellos.Ring));
    }

    [Test]
    public async Task ReceiveAsync_OfAMessageByteByByte_PutsItTogether()
    {
        Hello hello = Hellos.Client;
        byte[] bytes = hello.Encode();
        Task<Handshake.ReceivedHello?> receiving = ReceiveAsync();
        Hellos.Send(_sockets.Client, bytes[..1], Hellos.GoodDescriptor());
        for (int i = 1; i < bytes.Length; i++)
        {
            Assert.That(receiving.IsCompleted, Is.False);
            _sockets.Client.Send(bytes.AsSpan(i, 1));
        }

        using Handshake.ReceivedHello? received = await receiving;
        Assert.That(received!.Hello, Is.EqualTo(hello));
    }

    [TestCase(1)]
    [TestCase(23)]
    [TestCase(24)]
    [TestCase(63)]
    public void ReceiveAsync_OfAMessageCutByTheClose_IsTheProtocolsFaultAndLeaksNothing(int length)
    {
        Hellos.Send(_sockets.Client, Hellos.Client.Encode()[..length], Hellos.GoodDescriptor());
        _sockets.Client.Dispose();

        AssertRefused($"closed after {length} bytes");
    }

    [TestCase(0)]
    [TestCase(2)]
    [TestCase(8)]
    public void ReceiveAsync_OfAHelloWithAnotherNumberOfDescriptors_ClosesThemAll(int count)
    {
        Hellos.SendWith(_sockets.Client, Hellos.Client.Encode(), count);

        AssertRefused($"{count} descriptors came");
    }

    [Test]
    public void ReceiveAsync_OfMoreDescriptorsThanAnybodySends_IsRefusedAndLeaksNothing()
    {
        Hellos.SendWith(_sockets.Client, Hellos.Client.Encode(), 17);

        Assert.That(async () => await ReceiveAsync(), Throws.TypeOf<SegmentException>());
        AssertNothingIsLeft();
    }

    [Test]
    public void ReceiveAsync_OfARefusalWithADescriptor_IsTheProtocolsFault()
    {
        Hellos.Send(_sockets.Client, new Hello { Type = HelloType.Refusal }.Encode(), Hellos.GoodDescriptor());

        AssertRefused("1 descriptors came");
    }

    [Test]
    public void ReceiveAsync_OfAnotherProtocol_SaysSoAtTheFirstWrongByte()
    {
        // Shorter than any message of this protocol, and the connection stays open: the receiver must not wait for
        // more.
        _sockets.Client.Send("GET /"u8);

        AssertRefused("wrong magic number");
    }

    private Task<Handshake.ReceivedHello?> ReceiveAsync() =>
        RawHandshake.ReceiveAsync(_sockets.Server, CancellationToken.None).Bounded();

    private void AssertRefused(string why)
    {
        Assert.That(async () => await ReceiveAsync(), Throws.TypeOf<ProtocolException>().With.Message.Contains(why));
        AssertNothingIsLeft();
    }

    // Another thread closes what a peer has passed.
    private void AssertNothingIsLeft() => Assert.That(
        () => ProcessResources.CountDescriptors(Descriptors.MemoryFileTarget),
        Is.AtMost(_descriptorsBefore).After(20_000, 5));
}
