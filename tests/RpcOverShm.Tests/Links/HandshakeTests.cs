using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Links;

public class HandshakeTests
{
    private readonly WirePair _wires = new();

    [TearDown]
    public void Close() => _wires.Dispose();

    [Test]
    public async Task ReceiveAsync_OfARefusal_HasNoHandle()
    {
        Handshake.TrySendRefusal(_wires.ClientWire, ConnectionPurpose.Calls, RefusalReason.Stopping, "bye");

        using Handshake.ReceivedHello? received = await ReceiveAsync();

        Assert.That(received!.Hello.RefusalReason, Is.EqualTo(RefusalReason.Stopping));
        Assert.That(received.Hello.RefusalText, Is.EqualTo("bye"));
        Assert.That(received.Handles, Is.Empty);
    }

    [Test]
    public async Task ReceiveAsync_OfTwoMessages_LeavesTheSecond()
    {
        var refusal = new Hello { Type = HelloType.Refusal, RefusalText = "one" };
        _wires.ClientWire.Send([.. refusal.Encode(), .. (refusal with { RefusalText = "two" }).Encode()], []);

        Assert.That((await ReceiveAsync())!.Hello.RefusalText, Is.EqualTo("one"));
        Assert.That((await ReceiveAsync())!.Hello.RefusalText, Is.EqualTo("two"));
    }

    [Test]
    public async Task ReceiveAsync_OfNothingBeforeTheClose_IsNull()
    {
        _wires.ClientWire.ShutDown();

        Assert.That(await ReceiveAsync(), Is.Null);
    }

    [Test]
    public void ReceiveAsync_WhenCancelled_EndsTheWait()
    {
        using var cancel = new CancellationTokenSource();
        Task<Handshake.ReceivedHello?> receiving = Handshake.ReceiveAsync(_wires.ServerWire, cancel.Token);

        cancel.Cancel();

        Assert.That(async () => await receiving.Bounded(), Throws.InstanceOf<OperationCanceledException>());
    }

    [Test]
    public void TrySendRefusal_ToAPeerThatHasGone_DoesNothing()
    {
        _wires.ServerWire.ShutDown();

        Assert.That(
            () => Handshake.TrySendRefusal(_wires.ClientWire, default, RefusalReason.Violation, "x"), Throws.Nothing);
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
        Handshake.ReceiveAsync(_wires.ServerWire, CancellationToken.None).Bounded();
}
