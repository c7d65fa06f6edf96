using Microsoft.Win32.SafeHandles;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Segments;

public unsafe class SharedSegmentTests
{
    private const long Capacity = 64 << 10;

    [Test]
    public void Create_Afterwards_SaysWhatItIsToPeopleWithADebugger()
    {
        var id = Guid.NewGuid();
        using SharedSegment segment = SharedSegment.Create(Capacity, id);
        var header = (SegmentLayout*)(segment.Data - SegmentLayout.HeaderSizeBytes);

        Assert.That(header->Magic, Is.EqualTo(BitConverter.ToUInt64("RPCOSHM\u0001"u8)));
        Assert.That(header->Version, Is.EqualTo(1));
        Assert.That(header->RingCapacity, Is.EqualTo(Capacity));
        Assert.That(header->ConnectionId, Is.EqualTo(id));
    }

    [Test]
    public void Open_OfPassedDescriptor_SeesWhatTheOwnerWrites()
    {
        using var segment = new MappedSegment(Capacity);

        SharedMemoryOrder.WriteFenced(ref segment.Own.Tail, 16);
        SharedMemoryOrder.WriteRelease(ref segment.Own.Head, 32);
        SharedMemoryOrder.WriteRelease(ref segment.Own.ParkedForData, 33);
        SharedMemoryOrder.WriteRelease(ref segment.Own.ParkedForSpace, 17);
        segment.Own.Data[Capacity - 1] = 7;

        Assert.That(SharedMemoryOrder.ReadAcquire(ref segment.View.Tail), Is.EqualTo(16));
        Assert.That(SharedMemoryOrder.ReadAcquire(ref segment.View.Head), Is.EqualTo(32));
        Assert.That(SharedMemoryOrder.ReadAcquire(ref segment.View.ParkedForData), Is.EqualTo(33));
        Assert.That(SharedMemoryOrder.ReadAcquire(ref segment.View.ParkedForSpace), Is.EqualTo(17));
        Assert.That(segment.View.Data[Capacity - 1], Is.EqualTo(7));
        Assert.That(segment.View.RingCapacity, Is.EqualTo(Capacity));
    }

    [Test, LinuxOnly("The protection of a mapping is read in /proc.")]
    public void Open_InThePeer_MapsReadOnly()
    {
        using var segment = new MappedSegment(Capacity);

        Assert.That(ProtectionAt(segment.View.Data), Does.StartWith("r--s"));
        Assert.That(ProtectionAt(segment.Own.Data), Does.StartWith("rw-s"));
    }

    [Test, LinuxOnly("A descriptor of a pipe.")]
    public void Open_OfRefusedDescriptor_ClosesIt()
    {
        SafeFileHandle pipe = Descriptors.Pipe();

        Assert.That(() => SharedSegment.Open(pipe, Capacity), Throws.TypeOf<SegmentException>());
        Assert.That(() => pipe.IsClosed, Is.True.After(20_000, 5));
    }

    [Test]
    public void Descriptor_AfterItsReleaseOrInThePeer_IsNotHandedOutAndTheMemoryIsStillThere()
    {
        using var segment = new MappedSegment(Capacity);
        segment.Own.Data[0] = 1;

        Assert.That(() => segment.Own.Handle, Throws.InvalidOperationException, "It was released.");
        Assert.That(() => segment.View.Handle, Throws.InvalidOperationException);
        Assert.That(segment.Own.Data[0], Is.EqualTo(1));
    }

    [Test, LinuxOnly("Mappings are counted in /proc.")]
    public void Dispose_Twice_UnmapsOnce()
    {
        SharedSegment segment = SharedSegment.Create(Capacity, Guid.Empty);
        int mapped = ProcessResources.CountSegmentMappings();

        segment.Dispose();
        segment.Dispose();

        Assert.That(ProcessResources.CountSegmentMappings(), Is.EqualTo(mapped - 1));
    }

    [Test, LinuxOnly("Descriptors and mappings are counted in /proc.")]
    public void Dispose_OfManySegments_ReturnsDescriptorsAndMappingsToWhereTheyBegan()
    {
        int descriptors = ProcessResources.CountSegmentDescriptors();
        int mappings = ProcessResources.CountSegmentMappings();

        for (int i = 0; i < 50; i++)
        {
            using var segment = new MappedSegment(Capacity);
            using SafeFileHandle tooSmall = Descriptors.MemoryFile(4096, Descriptors.AllRequired);
            Assert.That(() => SharedSegment.Open(tooSmall, Capacity), Throws.TypeOf<SegmentException>());
        }

        Assert.That(ProcessResources.CountSegmentDescriptors(), Is.EqualTo(descriptors));
        Assert.That(ProcessResources.CountSegmentMappings(), Is.EqualTo(mappings));
    }

    [Test, LinuxOnly("Descriptors and mappings are counted in /proc.")]
    public void Counting_WhileASegmentLives_SeesIt()
    {
        // The test above would also pass if the counters saw nothing at all.
        int descriptors = ProcessResources.CountSegmentDescriptors();
        int mappings = ProcessResources.CountSegmentMappings();

        using SharedSegment segment = SharedSegment.Create(Capacity, Guid.Empty);

        Assert.That(ProcessResources.CountSegmentDescriptors(), Is.EqualTo(descriptors + 1));
        Assert.That(ProcessResources.CountSegmentMappings(), Is.EqualTo(mappings + 1));
    }

    private static string ProtectionAt(byte* data)
    {
        string start = $"{(nint)(data - SegmentLayout.HeaderSizeBytes):x}-";
        string line = File.ReadLines("/proc/self/maps").Single(
            line => line.StartsWith(start, StringComparison.Ordinal));
        return line.Split(' ')[1];
    }
}
