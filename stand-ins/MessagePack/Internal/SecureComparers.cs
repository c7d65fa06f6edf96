using System.Collections;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace MessagePack;

/// <summary>
/// The comparers of dictionaries and sets whose keys come from a message that is not trusted: for the types whose equal
/// values are known to hash alike, and for no others.
/// </summary>
internal static class SecureComparers
{
    private static readonly Dictionary<Type, object> s_comparers = new()
    {
        [typeof(bool)] = Of<bool>(value => SipHash.Hash(value ? 1u : 0u)),
        [typeof(char)] = Of<char>(value => SipHash.Hash(value)),
        [typeof(sbyte)] = Of<sbyte>(value => SipHash.Hash((ulong)value)),
        [typeof(byte)] = Of<byte>(value => SipHash.Hash(value)),
        [typeof(short)] = Of<short>(value => SipHash.Hash((ulong)value)),
        [typeof(ushort)] = Of<ushort>(value => SipHash.Hash(value)),
        [typeof(int)] = Of<int>(value => SipHash.Hash((ulong)value)),
        [typeof(uint)] = Of<uint>(value => SipHash.Hash(value)),
        [typeof(long)] = Of<long>(value => SipHash.Hash((ulong)value)),
        [typeof(ulong)] = Of<ulong>(SipHash.Hash),
        [typeof(float)] = Of<float>(value => HashOf(value)),
        [typeof(double)] = Of<double>(HashOf),
        [typeof(string)] = Of<string>(value => SipHash.Hash(MemoryMarshal.AsBytes(value.AsSpan()))),
        [typeof(Guid)] = Of<Guid>(HashOf),
        [typeof(DateTime)] = Of<DateTime>(value => SipHash.Hash((ulong)value.Ticks)),
        [typeof(DateTimeOffset)] = Of<DateTimeOffset>(value => SipHash.Hash((ulong)value.UtcTicks)),
        [typeof(object)] = Of<object>(HashOf),
    };

    internal static IEqualityComparer ForObjects => Cache<object>.ComparerOrNull as IEqualityComparer
        ?? throw new InvalidOperationException();

    /// <exception cref="TypeAccessException">It is not known how to hash the type safely.</exception>
    internal static IEqualityComparer<T> Get<T>() => Cache<T>.ComparerOrNull ?? throw Unknown(typeof(T));

    private static SecureComparer<T> Of<T>(Func<T, int> hash) => new(hash);

    // The two zeros are equal, and so are all that are not a number.
    private static int HashOf(double value) => SipHash.Hash(value switch
    {
        0 => 0,
        double.NaN => BitConverter.DoubleToUInt64Bits(double.NaN),
        _ => BitConverter.DoubleToUInt64Bits(value),
    });

    private static int HashOf(Guid value)
    {
        return SipHash.Hash(MemoryMarshal.AsBytes(new ReadOnlySpan<Guid>(in value)));
    }

    private static int HashOf(object value) =>
        s_comparers.TryGetValue(value.GetType(), out object? comparer) && value.GetType() != typeof(object)
            ? ((IEqualityComparer)comparer).GetHashCode(value)
            : throw Unknown(value.GetType());

    private static TypeAccessException Unknown(Type type) =>
        new($"No hash-resistant equality comparer available for type: {type}");

    private static SecureComparer<T>? Find<T>()
    {
        if (s_comparers.TryGetValue(typeof(T), out object? comparer))
        {
            return (SecureComparer<T>)comparer;
        }

        return typeof(T).IsEnum ? Of<T>(HashOfEnum) : null;
    }

    private static int HashOfEnum<T>(T value) => SipHash.Hash(Unsafe.SizeOf<T>() switch
    {
        1 => Unsafe.As<T, byte>(ref value),
        2 => Unsafe.As<T, ushort>(ref value),
        4 => Unsafe.As<T, uint>(ref value),
        _ => Unsafe.As<T, ulong>(ref value),
    });

    private static class Cache<T>
    {
        internal static readonly SecureComparer<T>? ComparerOrNull = Find<T>();
    }
}
