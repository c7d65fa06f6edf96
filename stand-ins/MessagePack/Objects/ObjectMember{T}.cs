using System.Reflection;

namespace MessagePack.Objects;

/// <summary>A field or property of an object, as the message has it.</summary>
internal abstract class ObjectMember<T>
{
    /// <summary>Its place in the array, or in the order in which the map is written.</summary>
    internal required int Index { get; init; }

    /// <summary>Its name in the map with the header of the string; null where the object is an array.</summary>
    internal required byte[]? Key { get; init; }

    internal required string Name { get; init; }

    internal abstract Type Type { get; }

    internal abstract bool CanGet { get; }

    internal abstract bool CanSet { get; }

    internal static ObjectMember<T> Create(PlannedMember planned)
    {
        Type type = typeof(ObjectMember<,>).MakeGenericType(typeof(T), planned.Type);
        ConstructorInfo constructor = type.GetConstructors(BindingFlags.Instance | BindingFlags.NonPublic)[0];
        return (ObjectMember<T>)constructor.Invoke([planned]);
    }

    internal abstract void Write(ref MessagePackWriter writer, ref T target, MessagePackSerializerOptions options);

    /// <summary>Reads the value into the object.</summary>
    internal abstract void Read(ref MessagePackReader reader, ref T target, MessagePackSerializerOptions options);

    /// <summary>Reads the value for an object that does not exist yet.</summary>
    internal abstract object? ReadApart(ref MessagePackReader reader, MessagePackSerializerOptions options);

    internal abstract void Set(ref T target, object? value);
}
