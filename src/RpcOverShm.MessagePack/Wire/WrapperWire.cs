namespace RpcOverShm.MessagePack.Wire;

/// <summary>The message of a well-known wrapper: one field, number 1, without presence.</summary>
internal static class WrapperWire<TWire, T>
    where TWire : struct, IScalarWire<T>
{
    private const int ValueField = 1;
    private const int HeaderAndKeyBytes = 2;

    public static long Size(T value) => TWire.IsDefault(value) ? 1 : HeaderAndKeyBytes + TWire.Size(value);

    public static void Write(ref MessageWriter writer, T value)
    {
        if (TWire.IsDefault(value))
        {
            writer.WriteMapHeader(0);
            return;
        }

        writer.WriteMapHeader(1);
        writer.WriteKey(ValueField);
        TWire.Write(ref writer, value);
    }

    public static T Read(ref MessageReader reader) =>
        reader.TryReadNil() ? TWire.Default : Merge(ref reader, TWire.Default);

    /// <summary>Reads a wrapper that is not nil over a value; its depth does not count, as in Protobuf.</summary>
    public static T Merge(ref MessageReader reader, T value)
    {
        int around = reader.Field;
        for (int left = reader.ReadMapHeader(); left > 0; left--)
        {
            int field = reader.ReadField();
            reader.Field = around;
            if (reader.TryReadNil())
            {
                continue;
            }

            if (field == ValueField)
            {
                value = TWire.Read(ref reader);
            }
            else
            {
                reader.Skip();
            }
        }

        return value;
    }
}
