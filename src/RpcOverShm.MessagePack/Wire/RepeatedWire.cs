using Google.Protobuf.Collections;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>
/// A repeated field, as an array. If the field occurs again, its elements are appended, as in Protobuf.
/// </summary>
internal static class RepeatedWire<TWire, T>
    where TWire : struct, IWireValue<T>
{
    public static bool Any(RepeatedField<T> values) => values.Count > 0;

    public static long Size(RepeatedField<T> values)
    {
        int count = values.Count;
        long size = WireSize.ArrayHeader(count);
        for (int i = 0; i < count; i++)
        {
            size += TWire.Size(values[i]);
        }

        return size;
    }

    public static void Write(ref MessageWriter writer, RepeatedField<T> values)
    {
        int count = values.Count;
        writer.WriteArrayHeader(count);
        for (int i = 0; i < count; i++)
        {
            TWire.Write(ref writer, values[i]);
        }
    }

    public static void Read(ref MessageReader reader, RepeatedField<T> values)
    {
        int count = reader.ReadArrayHeader();

        // Only for the first array of a field: otherwise each of many short arrays would copy all elements before it.
        if (values.Count == 0 && count > 0)
        {
            values.Capacity = count;
        }

        int owed = reader.Owed;
        for (int behind = count - 1; behind >= 0; behind--)
        {
            reader.Owed = owed + behind;
            values.Add(TWire.Read(ref reader));
        }

        reader.Owed = owed;
    }
}
