using System.Diagnostics.CodeAnalysis;
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.Serialization;
using MessagePack;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>Attributes and members of types, as MessagePack's resolvers see them. Thread-safe.</summary>
[UnconditionalSuppressMessage("Trimming", "IL2070", Justification = Kept)]
[UnconditionalSuppressMessage("Trimming", "IL2075", Justification = Kept)]
[UnconditionalSuppressMessage("Trimming", "IL2087", Justification = Kept)]
internal static class ObjectType
{
    private const string Kept = "A formatter keeps the members that it writes; a member that is gone is not checked.";

    private const BindingFlags Declared =
        BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

    /// <summary>True for a type whose attributes say what is written of it.</summary>
    public static bool IsDescribed(Type type) =>
        type.IsDefined(typeof(MessagePackObjectAttribute), inherit: true)
        || type.IsDefined(typeof(DataContractAttribute), inherit: true);

    /// <summary>The types of a union; empty for any other type.</summary>
    public static Type[] UnionOf(Type type) =>
        [.. type.GetCustomAttributes<UnionAttribute>(inherit: false).Select(one => one.SubType)];

    /// <summary>The members that are written of a type with attributes.</summary>
    public static IEnumerable<(MemberInfo Member, Type Type)> MembersOf(Type type)
    {
        bool isByNames = type.GetCustomAttribute<MessagePackObjectAttribute>()?.KeyAsPropertyName == true;
        for (Type? level = type; level is not null; level = level.BaseType)
        {
            foreach (PropertyInfo property in level.GetProperties(Declared))
            {
                if (property.GetMethod is { } getter && property.GetIndexParameters().Length == 0
                    && IsWritten(property, isByNames && getter.IsPublic))
                {
                    yield return (property, property.PropertyType);
                }
            }

            foreach (FieldInfo field in level.GetFields(Declared)
                .Where(one => IsWritten(one, isByNames && one.IsPublic)))
            {
                yield return (field, field.FieldType);
            }
        }
    }

    /// <summary>
    /// Makes what finds the first member that is null and is declared not to be; null when no member is. Callbacks
    /// before writing may still fill a type's members, so nothing is said about such a type.
    /// </summary>
    public static Func<T, string?>? NullFinder<T>()
    {
        // Trimmed programs have no annotations.
        bool hasNoAnnotations =
            AppContext.TryGetSwitch("System.Reflection.NullabilityInfoContext.IsSupported", out bool isOn) && !isOn;
        if (hasNoAnnotations || typeof(IMessagePackSerializationCallbackReceiver).IsAssignableFrom(typeof(T)))
        {
            return null;
        }

        var nullability = new NullabilityInfoContext();
        ParameterExpression value = Expression.Parameter(typeof(T), "value");
        Expression found = Expression.Constant(null, typeof(string));
        foreach ((MemberInfo member, Type type) in MembersOf(typeof(T)).Reverse().Where(one => !one.Type.IsValueType))
        {
            NullabilityInfo info = member is PropertyInfo property
                ? nullability.Create(property)
                : nullability.Create((FieldInfo)member);

            // Whether a T may be null, its user says in a place that reflection does not show.
            if (info.ReadState == NullabilityState.NotNull
                && !member.DeclaringType!.GenericTypeArguments.Contains(type))
            {
                found = Expression.Condition(
                    Expression.ReferenceEqual(Expression.MakeMemberAccess(value, member), Expression.Constant(null)),
                    Expression.Constant(member.Name),
                    found);
            }
        }

        return found is ConstantExpression ? null : Expression.Lambda<Func<T, string?>>(found, value).Compile();
    }

    private static bool IsWritten(MemberInfo member, bool isByName) =>
        !member.IsDefined(typeof(IgnoreMemberAttribute), inherit: true)
        && !member.IsDefined(typeof(IgnoreDataMemberAttribute), inherit: true)
        && (isByName
            || member.IsDefined(typeof(KeyAttribute), inherit: true)
            || member.IsDefined(typeof(DataMemberAttribute), inherit: true));
}
