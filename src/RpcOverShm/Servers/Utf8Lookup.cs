using System.Buffers.Binary;
using System.Numerics;
using System.Text;

namespace RpcOverShm.Servers;

/// <summary>
/// Finds values by name in UTF-8, as names arrive on the wire: a lookup allocates no string and decodes no characters.
/// A peer adds no names, so it cannot slow lookups down with collisions. Immutable.
/// </summary>
/// <typeparam name="TValue">The type of the values.</typeparam>
internal sealed class Utf8Lookup<TValue>
    where TValue : class
{
    // 2^64 divided by the golden ratio: spreads names that differ in few bits.
    private const ulong Factor = 0x9E37_79B9_7F4A_7C15;

    private readonly Entry[][] _buckets;

    public Utf8Lookup(IReadOnlyDictionary<string, TValue> values)
    {
        int count = (int)BitOperations.RoundUpToPowerOf2((uint)values.Count * 2 | 1);
        Entry[] entries = [.. values.Select(value => new Entry(Encoding.UTF8.GetBytes(value.Key), value.Value))];
        ILookup<uint, Entry> byHash = entries.ToLookup(entry => Hash(entry.Name) & (uint)(count - 1));
        _buckets = [.. Enumerable.Range(0, count).Select(bucket => byHash[(uint)bucket].ToArray())];
    }

    /// <summary>Returns the value of a name in UTF-8; null if there is none.</summary>
    public TValue? Find(ReadOnlySpan<byte> name)
    {
        foreach (Entry entry in _buckets[Hash(name) & (uint)(_buckets.Length - 1)])
        {
            if (name.SequenceEqual(entry.Name))
            {
                return entry.Value;
            }
        }

        return null;
    }

    private static uint Hash(ReadOnlySpan<byte> name)
    {
        ulong hash = (ulong)name.Length;
        ReadOnlySpan<byte> rest = name;
        for (; rest.Length >= sizeof(ulong); rest = rest[sizeof(ulong)..])
        {
            hash = Mix(hash, BinaryPrimitives.ReadUInt64LittleEndian(rest));
        }

        if (name.Length >= sizeof(ulong))
        {
            // Hashing the last eight bytes, some of them twice, is faster than the rest byte by byte.
            hash = Mix(hash, BinaryPrimitives.ReadUInt64LittleEndian(name[^sizeof(ulong)..]));
            return (uint)hash;
        }

        foreach (byte letter in rest)
        {
            hash = Mix(hash, letter);
        }

        return (uint)hash;
    }

    private static ulong Mix(ulong hash, ulong word)
    {
        ulong product = (hash ^ word) * Factor;
        return product ^ (product >> 32);
    }

    private readonly record struct Entry(byte[] Name, TValue Value);
}
