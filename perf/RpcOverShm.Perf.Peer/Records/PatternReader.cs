namespace RpcOverShm.Perf.Peer.Records;

/// <summary>Makes the values of a record from the bytes of a pattern, in their order.</summary>
internal ref struct PatternReader(ReadOnlySpan<byte> pattern)
{
    private ReadOnlySpan<byte> _rest = pattern;

    public ulong Number() => BinaryPrimitives.ReadUInt64LittleEndian(Take(sizeof(ulong)));

    public int Int32() => BinaryPrimitives.ReadInt32LittleEndian(Take(sizeof(int)));

    // Four bytes each: every value has an exact form in a double, and times are of a usual length.
    public long Time() => BinaryPrimitives.ReadUInt32LittleEndian(Take(sizeof(uint)));

    public double Double() => BinaryPrimitives.ReadInt32LittleEndian(Take(sizeof(int)));

    public string Text(int patternBytes) => Convert.ToHexStringLower(Take(patternBytes));

    private ReadOnlySpan<byte> Take(int bytes)
    {
        ReadOnlySpan<byte> taken = _rest[..bytes];
        _rest = _rest[bytes..];
        return taken;
    }
}
