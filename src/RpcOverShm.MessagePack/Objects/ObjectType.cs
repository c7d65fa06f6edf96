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

    /// <summary>
    /// Whether the program is trimmed or compiled ahead of time: <c>ILLink.Substitutions.xml</c> then makes it true. A
    /// formatter that is made at run time would not see the members that the trimmer has removed, and lose them.
    /// </summary>
    public static bool IsTrimmed => false;

    /// <summary>Returns whether attributes of the type declare its serialised members.</summary>
    public static bool IsDescribed(Type type) =>
        type.IsDefined(typeof(MessagePackObjectAttribute), inherit: true)
        || type.IsDefined(typeof(DataContractAttribute), inherit: true);

    /// <summary>Returns the types of a union; empty for any other type.</summary>
    public static Type[] UnionOf(Type type) =>
        [.. type.GetCustomAttributes<UnionAttribute>(inherit: false).Select(one => one.SubType)];

    /// <summary>
    /// Returns the first type with attributes among the type, its type arguments and its elements; null if there is
    /// none.
    /// </summary>
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

    /// <summary>
    /// Returns the serialised members of a type with attributes; <paramref name="allowsPrivate"/> includes non-public
    /// members even if the type does not allow them.
    /// </summary>
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
                // The package reads the attributes of each declaration; with names as keys, only the last declaration
                // counts.
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
    /// Compiles a function that returns the first non-nullable member that is null. Returns null if there is no such
    /// member, or if the type has a callback before serialisation, which may still fill its members.
    /// </summary>
    /// <param name="allowsPrivate">As for <see cref="MembersOf"/>.</param>
    public static Func<T, string?>? NullFinder<T>(bool allowsPrivate)
    {
        // Trimming removes the nullable annotations.
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

            // Reflection does not show whether the argument of a type parameter is nullable.
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

    // A custom formatter of a member may support null; a member without a public getter is only read.
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
