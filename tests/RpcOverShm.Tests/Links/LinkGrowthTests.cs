using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Rings;
using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Links;

/// <summary>The growth of a link's ring, from the wish of its writer to the reader that follows.</summary>
public class LinkGrowthTests
{
    private const int Ring = 1 << 20;
    private const int RingNotGrown = 116;

    private readonly LinkPair _links = new(clientRing: Ring, serverRing: Ring, areGrown: false);

    [TearDown]
    public void Dispose() => _links.Dispose();

    [Test, LinuxOnly("A memory file is kept until it has grown; a section has all its memory.")]
    public void Growth_OfAWriter_GivesTheSecondRingMemory_AndTheReaderNeedsTheDescriptorNoMore()
    {
        SharedSegment view = _links.ClientSegment.View;
        SafeHandle descriptor = view.Handle;
        Assert.That(descriptor.IsClosed, Is.False);

        LinkPair.Grow(_links.Client, _links.Server);

        Assert.That(descriptor.IsClosed);
        Assert.That(() => view.Handle, Throws.InvalidOperationException, "It was released.");
        Assert.That(_links.Client.Writer.MaxPayloadBytes, Is.EqualTo(RingLimits.MaxPayloadBytes(Ring)));
        Assert.That(
            _links.Server.Writer.MaxPayloadBytes,
            Is.EqualTo(RingLimits.MaxPayloadBytes(SegmentLayout.FirstRingBytes)),
            "Each direction grows for itself.");
    }

    // The writer may sleep until the peer has read. It must not miss that there is a larger ring.
    [Test]
    public void Growth_WakesTheThreadsThatSleep()
    {
        uint before = _links.Client.LocalEvents;

        _links.Client.Writer.WantGrowth();

        Assert.That(() => _links.Client.LocalEvents, Is.Not.EqualTo(before).After(20_000, 1));
    }

    [Test, LinuxOnly("A section has all its memory.")]
    public unsafe void Growth_WithoutMemory_IsLogged_AndTheFirstRingServesOn()
    {
        // The system finds no mapping to give memory to, which is one of its reasons to refuse.
        LinuxNative.MUnmap((nint)_links.ClientSegment.Own.SecondData, 4096);

        _links.Client.Writer.WantGrowth();

        Assert.That(() => _links.Logger.Of(RingNotGrown).Count, Is.EqualTo(1).After(20_000, 1));
        Assert.That(
            _links.Logger.Of(RingNotGrown)[0].Message,
            Does.Contain("stays at 65536 bytes and does not grow to 1048576: Cannot allocate memory"));
        for (int i = 0; i < 100; i++)
        {
            Assert.That(_links.Client.Writer.TryClaim(1000, isControl: false, out RingClaim claim));
            Assert.That(claim.IsMoving, Is.False);
            _links.Client.Writer.Commit(claim, new RecordHeader(1000, 1, 0, 0, 0, 0));
            _links.Client.Writer.Publish();
            Assert.That(_links.Server.Reader.TryRead(out _, out _));
            _links.Server.Reader.Release();
        }
    }

    [Test]
    public async Task Growth_OfALinkWhoseMemoryIsUnmapped_DoesNothing()
    {
        _links.Client.Close(new CloseReason(CloseKind.Local, "The test is over."));
        _links.Client.Leave();
        _links.Client.Leave();

        ((IThreadPoolWorkItem)_links.Client).Execute();

        await Timeouts.Eventually(() => DeferredLog.IsEmpty, "all entries so far are logged");
        Assert.That(_links.Logger.Of(RingNotGrown), Is.Empty);
    }
}
