using System.Reflection;
using System.Runtime.Serialization;

namespace MessagePack.Objects;

/// <summary>Which members of a type its attributes put into the message: an array's places, or a map's names.</summary>
internal sealed class ObjectPlan
{
    private const BindingFlags PublicInstance = BindingFlags.Public | BindingFlags.Instance;

    private ObjectPlan(Type type, bool isArray, IReadOnlyList<PlannedMember> members)
    {
        Type = type;
        IsArray = isArray;
        Members = members;
    }

    internal Type Type { get; }

    internal bool IsArray { get; }

    internal IReadOnlyList<PlannedMember> Members { get; }

    /// <summary>Null if the type says nothing about itself.</summary>
    internal static ObjectPlan? CreateOrNull(Type type)
    {
        if (type.GetCustomAttribute<MessagePackObjectAttribute>(inherit: true) is { } attribute)
        {
            return attribute.KeyAsPropertyName ? ByName(type) : ByKey(type, KeyOf);
        }

        return type.IsDefined(typeof(DataContractAttribute), inherit: true) ? ByKey(type, DataKeyOf) : null;
    }

    /// <summary>For tuples and pairs: these members in their order.</summary>
    internal static ObjectPlan OfTuple(Type type, params IEnumerable<string> names) => new(
        type, isArray: true, [.. names.Select((name, i) => new PlannedMember(type.GetMember(name)[0], i, null))]);

    private static ObjectPlan ByName(Type type) => new(
        type,
        isArray: false,
        [.. MembersOf(type).Select((member, i) => new PlannedMember(member, i, NameOf(member)))]);

    private static string NameOf(MemberInfo member) =>
        member.GetCustomAttribute<KeyAttribute>(inherit: true)?.StringKey ?? member.Name;

    private static ObjectPlan ByKey(Type type, Func<MemberInfo, KeyAttribute?> keyOf)
    {
        var members = new List<PlannedMember>();
        foreach (MemberInfo member in MembersOf(type))
        {
            if (keyOf(member) is { } key)
            {
                members.Add(new PlannedMember(member, key.IntKey ?? members.Count, key.StringKey));
            }
        }

        bool isArray = members.TrueForAll(member => member.Key is null);
        if (!isArray && members.Exists(member => member.Key is null))
        {
            throw Invalid(type, "all members key type must be same.");
        }

        if (members.Exists(member => member.Index < 0))
        {
            throw Invalid(type, "a key is negative.");
        }

        if (members.DistinctBy(member => member.Key ?? (object)member.Index).Count() != members.Count)
        {
            throw Invalid(type, "key is duplicated, all members key must be unique.");
        }

        return new ObjectPlan(type, isArray, members);
    }

    private static KeyAttribute KeyOf(MemberInfo member) =>
        member.GetCustomAttribute<KeyAttribute>(inherit: true)
        ?? throw Invalid(
            member.DeclaringType!,
            $"all public members must mark KeyAttribute or IgnoreMemberAttribute: {member.Name}");

    private static KeyAttribute? DataKeyOf(MemberInfo member) =>
        member.GetCustomAttribute<DataMemberAttribute>(inherit: true) is not { } data ? null
        : data.Order >= 0 ? new KeyAttribute(data.Order)
        : new KeyAttribute(data.Name ?? member.Name);

    /// <summary>All that is public, what hides another instead of that.</summary>
    private static IEnumerable<MemberInfo> MembersOf(Type type)
    {
        IEnumerable<MemberInfo> properties = type.GetProperties(PublicInstance)
            .Where(property => property.GetIndexParameters().Length == 0)
            .Where(property => property.GetMethod is { IsPublic: true } || property.SetMethod is { IsPublic: true });
        return properties.Concat(type.GetFields(PublicInstance))
            .DistinctBy(member => member.Name)
            .Where(member => !member.IsDefined(typeof(IgnoreMemberAttribute), inherit: true)
                && !member.IsDefined(typeof(IgnoreDataMemberAttribute), inherit: true));
    }

    private static MessagePackSerializationException Invalid(Type type, string what) => new($"{what} type: {type}");
}
