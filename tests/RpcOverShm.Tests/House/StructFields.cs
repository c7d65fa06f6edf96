using System.Reflection;
using System.Runtime.InteropServices;

namespace RpcOverShm.Tests.House;

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
