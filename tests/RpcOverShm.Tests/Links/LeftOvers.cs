namespace RpcOverShm.Tests.Links;

/// <summary>Memory files and mappings of segments that a handshake may leave in this process.</summary>
internal sealed class LeftOvers
{
    private const string MemoryFiles = "memfd:";

    private readonly int _descriptorsBefore = ProcessResources.CountDescriptors(MemoryFiles);
    private readonly int _mappingsBefore = ProcessResources.CountSegmentMappings();

    /// <summary>
    /// Asserts that nothing is left of what came since the creation of this object. Waits a little, because another
    /// thread closes the descriptors that a peer has passed.
    /// </summary>
    public void AssertNone()
    {
        Assert.That(
            () => ProcessResources.CountDescriptors(MemoryFiles), Is.AtMost(_descriptorsBefore).After(20_000, 5));
        Assert.That(() => ProcessResources.CountSegmentMappings(), Is.EqualTo(_mappingsBefore).After(20_000, 5));
    }
}
