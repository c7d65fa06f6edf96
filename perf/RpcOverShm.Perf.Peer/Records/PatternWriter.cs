namespace RpcOverShm.Perf.Peer.Records;

/// <summary>Gives the pattern back that a record was made from, as <see cref="PatternReader"/> took it.</summary>
internal ref struct PatternWriter(Span<byte> pattern)
{
    private Span<byte> _rest = pattern;

    public void Number(ulong value) => BinaryPrimitives.WriteUInt64LittleEndian(Take(sizeof(ulong)), value);

    public void Int32(int value) => BinaryPrimitives.WriteInt32LittleEndian(Take(sizeof(int)), value);

    public void Time(long value) => BinaryPrimitives.WriteUInt32LittleEndian(Take(sizeof(uint)), (uint)value);

    public void Double(double value) => BinaryPrimitives.WriteInt32LittleEndian(Take(sizeof(int)), (int)value);

    /// <summary>A text that is not what it should be leaves its place empty, and so is seen.</summary>
    public void Text(string value, int patternBytes)
    {
        Span<byte> place = Take(patternBytes);
        place.Clear();
        Convert.FromHexString(value, place, out _, out _);
    }

    private Span<byte> Take(int bytes)
    {
        Span<byte> taken = _rest[..bytes];
        _rest = _rest[bytes..];
        return taken;
    }
}
