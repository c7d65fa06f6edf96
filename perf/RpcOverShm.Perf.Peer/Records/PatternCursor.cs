namespace RpcOverShm.Perf.Peer.Records;

/// <summary>
/// Walks over a pattern, field by field. One way round it makes a record's values from the pattern's bytes; the other
/// way round it writes the values back, so that a shape lists its fields once.
/// </summary>
/// <param name="pattern">The bytes.</param>
/// <param name="isWriting">True to write the values that are given; false to return those of the pattern.</param>
internal ref struct PatternCursor(Span<byte> pattern, bool isWriting)
{
    private Span<byte> _rest = pattern;

    public ulong Number(ulong value)
    {
        Span<byte> place = Take(sizeof(ulong));
        if (isWriting)
        {
            BinaryPrimitives.WriteUInt64LittleEndian(place, value);
        }

        return BinaryPrimitives.ReadUInt64LittleEndian(place);
    }

    public int Int32(int value)
    {
        Span<byte> place = Take(sizeof(int));
        if (isWriting)
        {
            BinaryPrimitives.WriteInt32LittleEndian(place, value);
        }

        return BinaryPrimitives.ReadInt32LittleEndian(place);
    }

    // Four bytes each: every value has an exact form in a double, and times are of a usual length.
    public long Time(long value) => (uint)Int32((int)(uint)value);

    public double Double(double value) => Int32((int)value);

    /// <summary>
    /// Handles a text of hexadecimal digits. A wrong one leaves its place empty, so that the check finds it.
    /// </summary>
    public string Text(string value, int patternBytes)
    {
        Span<byte> place = Take(patternBytes);
        if (!isWriting)
        {
            return Convert.ToHexStringLower(place);
        }

        place.Clear();
        Convert.FromHexString(value, place, out _, out _);
        return value;
    }

    private Span<byte> Take(int bytes)
    {
        Span<byte> taken = _rest[..bytes];
        _rest = _rest[bytes..];
        return taken;
    }
}
