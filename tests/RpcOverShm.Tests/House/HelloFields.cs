using System.Buffers.Binary;
using System.Reflection;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Finds the offsets of a hello's fields. A hello is no struct: each property is encoded once as zeros and once as
/// ones, and the bytes of the message that differ belong to that property.
/// </summary>
internal static class HelloFields
{
    // The text of a refusal has no fixed size, and each limit is a field of its own.
    private static readonly string[] s_notFields = [nameof(Hello.RefusalText), nameof(Hello.Limits)];

    /// <summary>Returns all bytes of a hello as fields; bytes that belong to no property are reserved.</summary>
    public static IReadOnlyList<LayoutField> Find()
    {
        LayoutField[] found =
        [
            .. FindMagicAndLength(),
            .. Settable(typeof(Hello)).Where(property => !s_notFields.Contains(property.Name)).Select(FindInHello),
            .. Settable(typeof(PeerLimits)).Select(FindInLimits),
        ];
        return WithReserved([.. found.OrderBy(field => field.Offset)], Hello.SizeBytes);
    }

    /// <summary>Fills the gaps between fields with reserved ones.</summary>
    public static IReadOnlyList<LayoutField> WithReserved(IReadOnlyList<LayoutField> fields, int sizeBytes)
    {
        var all = new List<LayoutField>();
        int end = 0;
        foreach (LayoutField field in fields.Append(new LayoutField("", sizeBytes, 0)))
        {
            if (field.Offset > end)
            {
                all.Add(new LayoutField(LayoutField.Reserved, end, field.Offset - end));
            }

            all.Add(field);
            end = field.End;
        }

        return all[..^1];
    }

    /// <summary>Returns the bytes that differ as a field; they must be adjacent.</summary>
    public static LayoutField Compare(string name, ReadOnlySpan<byte> zeros, ReadOnlySpan<byte> ones)
    {
        int first = zeros.CommonPrefixLength(ones);
        int last = zeros.Length;
        while (last > first && zeros[last - 1] == ones[last - 1])
        {
            last--;
        }

        return new LayoutField(name, first, last - first);
    }

    private static IEnumerable<PropertyInfo> Settable(Type type) =>
        type.GetProperties(BindingFlags.Instance | BindingFlags.Public).Where(property => property.CanWrite);

    private static LayoutField FindInHello(PropertyInfo property)
    {
        byte[] Encode(bool areOnes)
        {
            var hello = new Hello { Type = HelloType.Client };
            property.SetValue(hello, Filled(property.PropertyType, areOnes));
            return hello.Encode();
        }

        return Compare(property.Name, Encode(false), Encode(true));
    }

    private static LayoutField FindInLimits(PropertyInfo property)
    {
        byte[] Encode(bool areOnes)
        {
            object limits = default(PeerLimits);
            property.SetValue(limits, Filled(property.PropertyType, areOnes));
            return new Hello { Type = HelloType.Client, Limits = (PeerLimits)limits }.Encode();
        }

        // The document gives the unit in words, the code in the name.
        string name = property.Name.EndsWith("Bytes", StringComparison.Ordinal) ? property.Name[..^5] : property.Name;
        return Compare(name, Encode(false), Encode(true));
    }

    // No property sets these two. They are decoded before all others, at fixed places.
    private static LayoutField[] FindMagicAndLength()
    {
        byte[] hello = new Hello { Type = HelloType.Client }.Encode();
        int magic = Enumerable.Range(0, Hello.CommonSizeBytes)
            .Single(at => at + 8 <= hello.Length
                && BinaryPrimitives.ReadUInt64LittleEndian(hello.AsSpan(at)) == Hello.MagicValue);
        int[] length = [.. Enumerable.Range(0, Hello.CommonSizeBytes)
            .Where(at => at < magic || at >= magic + sizeof(ulong))
            .Where(at => PeekWithout(hello, at) != hello.Length)];
        return
        [
            new LayoutField("Magic", magic, sizeof(ulong)),
            new LayoutField("Length", length.Min(), length.Length),
        ];
    }

    private static int? PeekWithout(byte[] hello, int at)
    {
        byte[] changed = [.. hello];
        changed[at] ^= 0xFF;
        try
        {
            return Hello.PeekLength(changed);
        }
        catch (ProtocolException)
        {
            return null;
        }
    }

    private static object Filled(Type type, bool areOnes) => type switch
    {
        { IsEnum: true } => Enum.ToObject(type, Filled(type.GetEnumUnderlyingType(), areOnes)),
        _ when type == typeof(byte) => areOnes ? byte.MaxValue : byte.MinValue,
        _ when type == typeof(ushort) => areOnes ? ushort.MaxValue : ushort.MinValue,
        _ when type == typeof(uint) => areOnes ? uint.MaxValue : uint.MinValue,
        _ when type == typeof(long) => areOnes ? -1L : 0L,
        _ when type == typeof(Guid) => areOnes ? Guid.AllBitsSet : Guid.Empty,
        _ => throw new NotSupportedException($"How is a {type} filled with ones?"),
    };
}
