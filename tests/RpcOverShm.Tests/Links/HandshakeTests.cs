using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Links;

public class HandshakeTests
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
    public async Task ReceiveAsync_OfARefusal_HasNoDescriptor()
    {
        RawHandshake.TrySendRefusal(_sockets.Client, ConnectionPurpose.Calls, RefusalReason.Stopping, "bye");

        using Handshake.ReceivedHello? received = await ReceiveAsync();

        Assert.That(received!.Hello.RefusalReason, Is.EqualTo(RefusalReason.Stopping));
        Assert.That(received.Hello.RefusalText, Is.EqualTo("bye"));
        Assert.That(received.Handles, Is.Empty);
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

    [Test]
    public async Task ReceiveAsync_OfTwoMessages_LeavesTheSecond()
    {
        var refusal = new Hello { Type = HelloType.Refusal, RefusalText = "one" };
        _sockets.Client.Send((byte[])[.. refusal.Encode(), .. (refusal with { RefusalText = "two" }).Encode()]);

        Assert.That((await ReceiveAsync())!.Hello.RefusalText, Is.EqualTo("one"));
        Assert.That((await ReceiveAsync())!.Hello.RefusalText, Is.EqualTo("two"));
    }

    [Test]
    public async Task ReceiveAsync_OfNothingBeforeTheClose_IsNull()
    {
        _sockets.Client.Dispose();

        Assert.That(await ReceiveAsync(), Is.Null);
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
        Hellos.SendWith(_sockets.Client, Hellos.Client.Encode(), 9);

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

    [Test]
    public void ReceiveAsync_WhenCancelled_EndsTheWait()
    {
        using var cancel = new CancellationTokenSource();
        Task<Handshake.ReceivedHello?> receiving = RawHandshake.ReceiveAsync(_sockets.Server, cancel.Token);

        cancel.Cancel();

        Assert.That(async () => await receiving.Bounded(), Throws.InstanceOf<OperationCanceledException>());
    }

    [Test]
    public void TrySendRefusal_ToAPeerThatHasGone_DoesNothing()
    {
        _sockets.Server.Dispose();

        Assert.That(
            () => RawHandshake.TrySendRefusal(_sockets.Client, default, RefusalReason.Violation, "x"), Throws.Nothing);
    }

    [TestCase(64 << 10, null)]
    [TestCase(1 << 30, null)]
    [TestCase(0, "a ring of 0 bytes")]
    [TestCase(-65536, "a ring of -65536 bytes")]
    [TestCase((64 << 10) + 1, "a ring of 65537 bytes")]
    [TestCase(32 << 10, "a ring of 32768 bytes")]
    [TestCase(long.MaxValue, "a ring of")]
    [TestCase(1L << 31, "a ring of")]
    public void Check_OfAnAnnouncedRing_SaysWhatIsWrong(long capacity, string? problem)
    {
        Hello hello = Hellos.Client with { Limits = Hellos.Limits with { RingCapacity = capacity } };

        Assert.That(Handshake.Check(hello), problem is null ? Is.Null : Does.Contain(problem));
    }

    [Test]
    public void Check_OfOtherLimits_IsTheirOwn()
    {
        Hello hello = Hellos.Client with { Limits = Hellos.Limits with { CallWindow = 1 } };

        Assert.That(Handshake.Check(hello), Is.EqualTo(hello.Limits.Check()).And.Not.Null);
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
