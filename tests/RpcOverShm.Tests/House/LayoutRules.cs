using System.Reflection;
using System.Runtime.InteropServices;

namespace RpcOverShm.Tests.House;

/// <summary>What a layout of shared memory must fulfil, wherever it comes from.</summary>
internal static class LayoutRules
{
    private const int WordBytes = 8;

    /// <summary>Fields of one side that the other does not have like that.</summary>
    public static IEnumerable<string> Differences(
        IReadOnlyList<LayoutField> documented, IReadOnlyList<LayoutField> actual) =>
        documented.Except(actual).Select(field => $"The code does not have {field}.")
            .Concat(actual.Except(documented).Select(field => $"The document does not have {field}."));

    /// <summary>Fields in the wrong order, on top of each other, not naturally aligned, or outside.</summary>
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

            // Nothing larger than a word is read or written at once.
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

    /// <summary>Words that processors fight over, and that share a line with another field.</summary>
    public static IEnumerable<string> SharedLines(
        IReadOnlyList<LayoutField> hot, IReadOnlyList<LayoutField> all, int lineBytes) =>
        from word in hot
        from other in all
        where other != word
        where other.Offset / lineBytes <= (word.End - 1) / lineBytes
            && (other.End - 1) / lineBytes >= word.Offset / lineBytes
        select $"{word} shares its {lineBytes} bytes with {other}.";
}

/// <summary>The fields of a struct that lies in shared memory, as the runtime lays them out.</summary>
internal static class StructFields
{
    // Structs that are shared hold nothing that marshalling would change, so its offsets are those in memory.
    public static IReadOnlyList<LayoutField> Of(Type type) =>
    [
        .. type.GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic)
            .Select(field => new LayoutField(
                field.Name, (int)Marshal.OffsetOf(type, field.Name), Marshal.SizeOf(field.FieldType)))
            .OrderBy(field => field.Offset),
    ];
}
