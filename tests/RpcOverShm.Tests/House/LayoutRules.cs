using System.Reflection;
using System.Runtime.InteropServices;

namespace RpcOverShm.Tests.House;

/// <summary>The rules for every layout in shared memory.</summary>
internal static class LayoutRules
{
    private const int WordBytes = 8;

    /// <summary>Fields of one side that the other side lacks or places differently.</summary>
    public static IEnumerable<string> Differences(
        IReadOnlyList<LayoutField> documented, IReadOnlyList<LayoutField> actual) =>
        documented.Except(actual).Select(field => $"The code does not have {field}.")
            .Concat(actual.Except(documented).Select(field => $"The document does not have {field}."));

    /// <summary>Fields in the wrong order, overlapping, not naturally aligned, or outside of the layout.</summary>
    public static IEnumerable<string> Misplaced(IReadOnlyList<LayoutField> fields, int sizeBytes)
    {
        for (int i = 0; i < fields.Count; i++)
        {
            LayoutField field = fields[i];
            if (i > 0 && field.Offset < fields[i - 1].Offset)
            {
                yield return $"{field} stands after {fields[i - 1]}.";
            }
            else if (i > 0 && field.Offset < fields[i - 1].End)
            {
                yield return $"{field} overlaps {fields[i - 1]}.";
            }

            // No access is larger than a word.
            if (field.Offset % Math.Min(field.Size, WordBytes) != 0)
            {
                yield return $"{field} is not naturally aligned.";
            }

            if (field.Offset < 0 || field.End > sizeBytes)
            {
                yield return $"{field} is outside of {sizeBytes} bytes.";
            }
        }
    }

    /// <summary>Contended words that share a cache line with another field.</summary>
    public static IEnumerable<string> SharedLines(
        IReadOnlyList<LayoutField> hot, IReadOnlyList<LayoutField> all, int lineBytes) =>
        from word in hot
        from other in all
        where other != word
        where other.Offset / lineBytes <= (word.End - 1) / lineBytes
            && (other.End - 1) / lineBytes >= word.Offset / lineBytes
        select $"{word} shares its {lineBytes} bytes with {other}.";
}

/// <summary>Reads the layout of a struct in shared memory from the runtime.</summary>
internal static class StructFields
{
    // Shared structs are blittable, so the marshalled offsets are those in memory.
    public static IReadOnlyList<LayoutField> Of(Type type) =>
    [
        .. type.GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic)
            .Select(field => new LayoutField(
                field.Name, (int)Marshal.OffsetOf(type, field.Name), Marshal.SizeOf(field.FieldType)))
            .OrderBy(field => field.Offset),
    ];
}
