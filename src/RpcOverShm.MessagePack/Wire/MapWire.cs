using System.Buffers;
using System.Runtime.CompilerServices;
using Google.Protobuf.Collections;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>A map field, as a map. If a key occurs again, the last entry wins, as in Protobuf.</summary>
internal static class MapWire<TKeyWire, TKey, TValueWire, TValue>
    where TKeyWire : struct, IWireValue<TKey>
    where TValueWire : struct, IWireValue<TValue>
    where TKey : notnull
{
    public static bool Any(MapField<TKey, TValue> map) => map.Count > 0;

    public static long Size(MapField<TKey, TValue> map)
    {
        KeyValuePair<TKey, TValue>[] entries = RentEntries(map, out int count);
        long size = WireSize.MapHeader(count);
        foreach ((TKey key, TValue value) in entries.AsSpan(0, count))
        {
            size += TKeyWire.Size(key) + TValueWire.Size(value);
        }

        Return(entries, count);
        return size;
    }

    public static void Write(ref MessageWriter writer, MapField<TKey, TValue> map)
    {
        KeyValuePair<TKey, TValue>[] entries = RentEntries(map, out int count);
        writer.WriteMapHeader(count);
        foreach ((TKey key, TValue value) in entries.AsSpan(0, count))
        {
            TKeyWire.Write(ref writer, key);
            TValueWire.Write(ref writer, value);
        }

        Return(entries, count);
    }

    public static void Read(ref MessageReader reader, MapField<TKey, TValue> map)
    {
        int count = reader.ReadMapHeader();
        int owed = reader.Owed;
        reader.EnterEntries();
        for (int behind = (2 * count) - 1; behind > 0; behind -= 2)
        {
            reader.Owed = owed + behind;
            TKey key = TKeyWire.Read(ref reader);
            reader.Owed = owed + behind - 1;
            map[key] = TValueWire.Read(ref reader);
        }

        reader.LeaveEntries();
        reader.Owed = owed;
    }

    /// <summary>Copies the entries to a pooled array, because enumerating the map allocates.</summary>
    private static KeyValuePair<TKey, TValue>[] RentEntries(MapField<TKey, TValue> map, out int count)
    {
        count = map.Count;
        KeyValuePair<TKey, TValue>[] entries = ArrayPool<KeyValuePair<TKey, TValue>>.Shared.Rent(count);
        ((ICollection<KeyValuePair<TKey, TValue>>)map).CopyTo(entries, 0);
        return entries;
    }

    private static void Return(KeyValuePair<TKey, TValue>[] entries, int count)
    {
        if (RuntimeHelpers.IsReferenceOrContainsReferences<KeyValuePair<TKey, TValue>>())
        {
            Array.Clear(entries, 0, count);
        }

        ArrayPool<KeyValuePair<TKey, TValue>>.Shared.Return(entries);
    }
}
