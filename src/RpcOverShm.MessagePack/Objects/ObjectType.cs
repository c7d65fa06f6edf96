using System.Diagnostics.CodeAnalysis;
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.CompilerServices;
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

    /// <summary>The first type with attributes in a type, its type arguments and its elements; null if none.</summary>
    public static Type? DescribedIn(Type type)
    {
        var seen = new HashSet<Type>();
        var pending = new Stack<Type>([type]);
        while (pending.TryPop(out Type? next))
        {
            if (!seen.Add(next) || Type.GetTypeCode(next) != TypeCode.Object)
            {
                continue;
            }

            if (IsDescribed(next) || next.IsDefined(typeof(UnionAttribute), inherit: false))
            {
                return next;
            }

            IEnumerable<Type> collections = next.GetInterfaces().Where(
                one => one.IsGenericType && one.GetGenericTypeDefinition() == typeof(IEnumerable<>));
            Type[] element = next.GetElementType() is { } only ? [only] : [];
            foreach (Type held in next.GetGenericArguments().Concat(element).Concat(collections))
            {
                pending.Push(held);
            }
        }

        return null;
    }

    /// <summary>The members that are written or read of a type with attributes.</summary>
    /// <param name="type">The type.</param>
    /// <param name="allowsPrivate">Takes members that are not public, even where the type does not say so.</param>
    public static IEnumerable<(MemberInfo Member, Type Type)> MembersOf(Type type, bool allowsPrivate)
    {
        MessagePackObjectAttribute? attribute = type.GetCustomAttribute<MessagePackObjectAttribute>();
        bool isByNames = attribute?.KeyAsPropertyName == true;
        allowsPrivate |= attribute?.AllowPrivate == true;
        var overridden = new HashSet<MethodInfo>();
        for (Type? level = type; level is not null; level = level.BaseType)
        {
            foreach (PropertyInfo property in level.GetProperties(Declared))
            {
                // The package asks each declaration for its attributes; by names, the last declaration alone counts.
                MethodInfo accessor = (property.GetMethod ?? property.SetMethod)!;
                bool isLast = overridden.Add(accessor.GetBaseDefinition()) || !isByNames;
                bool isSeen = allowsPrivate
                    || property.GetMethod?.IsPublic == true || property.SetMethod?.IsPublic == true;
                if (isSeen && isLast && property.GetIndexParameters().Length == 0 && IsWritten(property, isByNames))
                {
                    yield return (property, property.PropertyType);
                }
            }

            foreach (FieldInfo field in level.GetFields(Declared)
                .Where(one => (allowsPrivate || one.IsPublic) && IsWritten(one, isByNames)))
            {
                yield return (field, field.FieldType);
            }
        }
    }

    /// <summary>
    /// Makes what finds the first member that is null and is declared not to be; null when no member is. Callbacks
    /// before writing may still fill a type's members, so nothing is said about such a type.
    /// </summary>
    /// <param name="allowsPrivate">As for <see cref="MembersOf"/>.</param>
    public static Func<T, string?>? NullFinder<T>(bool allowsPrivate)
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
        foreach ((MemberInfo member, Type type) in MembersOf(typeof(T), allowsPrivate).Reverse()
            .Where(one => !one.Type.IsValueType && HasNullsOfItsType(one.Member)))
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

    // A member's own formatter may have a form for null, and what has no public getter is only read.
    private static bool HasNullsOfItsType(MemberInfo member) =>
        !member.IsDefined(typeof(MessagePackFormatterAttribute), inherit: true)
        && (member is not PropertyInfo property || property.GetMethod?.IsPublic == true
            || (property.GetMethod is not null && property.SetMethod?.IsPublic != true));

    private static bool IsWritten(MemberInfo member, bool isByName) =>
        !member.IsDefined(typeof(IgnoreMemberAttribute), inherit: true)
        && !member.IsDefined(typeof(IgnoreDataMemberAttribute), inherit: true)
        && ((isByName && !member.IsDefined(typeof(CompilerGeneratedAttribute), inherit: false))
            || member.IsDefined(typeof(KeyAttribute), inherit: true)
            || member.IsDefined(typeof(DataMemberAttribute), inherit: true));
}
