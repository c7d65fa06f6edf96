using System.Reflection;

namespace MessagePack.Objects;

/// <summary>
/// The constructor that reading uses: the marked one, or else the longest all of whose parameters are members, by place
/// where the object is an array and by name where it is a map.
/// </summary>
internal sealed class ObjectConstructor<T>
{
    private readonly ConstructorInvoker? _invoker;
    private readonly ObjectMember<T>[] _parameters;
    private readonly object?[] _defaults;

    private ObjectConstructor(ConstructorInfo? constructor, ObjectMember<T>[] parameters)
    {
        _parameters = parameters;
        _defaults = constructor?.GetParameters().Select(DefaultOf).ToArray() ?? [];
        _invoker = parameters.Length == 0 ? null : ConstructorInvoker.Create(constructor!);
    }

    /// <summary>Nothing has to be read before the object can be made.</summary>
    internal bool TakesNothing => _invoker is null;

    internal static ObjectConstructor<T> Find(ObjectPlan plan, IReadOnlyList<ObjectMember<T>> members)
    {
        ConstructorInfo[] all = typeof(T).GetConstructors(
            BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance);
        ConstructorInfo? marked = Array.Find(
            all, constructor => constructor.IsDefined(typeof(SerializationConstructorAttribute), inherit: false));
        if (marked is not null)
        {
            return TryMatch(marked, plan, members)
                ?? throw new MessagePackSerializationException(
                    $"can't find matched constructor parameter. type: {typeof(T)}");
        }

        foreach (ConstructorInfo constructor in all
            .Where(constructor => constructor.IsPublic)
            .OrderByDescending(constructor => constructor.GetParameters().Length))
        {
            if (TryMatch(constructor, plan, members) is { } match)
            {
                return match;
            }
        }

        return typeof(T).IsValueType
            ? new ObjectConstructor<T>(null, [])
            : throw new MessagePackSerializationException($"can't find public constructor. type: {typeof(T)}");
    }

    internal bool Takes(ObjectMember<T> member) => Array.IndexOf(_parameters, member) >= 0;

    internal static T CreateEmpty() => typeof(T).IsValueType ? default! : Activator.CreateInstance<T>();

    /// <param name="values">By member; what the message did not have is null.</param>
    /// <param name="isThere">By member, whether the message had it.</param>
    internal T Create(object?[] values, bool[] isThere)
    {
        object?[] arguments = [.. _defaults];
        for (int i = 0; i < arguments.Length; i++)
        {
            int index = _parameters[i].Index;
            arguments[i] = isThere[index] ? values[index] : arguments[i];
        }

        return (T)_invoker!.Invoke(arguments);
    }

    private static object? DefaultOf(ParameterInfo parameter) =>
        parameter.HasDefaultValue && parameter.DefaultValue is { } value ? value
        : parameter.ParameterType.IsValueType ? Activator.CreateInstance(parameter.ParameterType)
        : null;

    private static ObjectConstructor<T>? TryMatch(
        ConstructorInfo constructor, ObjectPlan plan, IReadOnlyList<ObjectMember<T>> members)
    {
        ObjectMember<T>?[] matches = [.. constructor.GetParameters().Select(
            parameter => members.FirstOrDefault(member => IsMatch(parameter, member, plan.IsArray)))];
        return Array.Exists(matches, match => match is null)
            ? null
            : new ObjectConstructor<T>(constructor, matches!);
    }

    private static bool IsMatch(ParameterInfo parameter, ObjectMember<T> member, bool isArray) =>
        member.CanGet
        && parameter.ParameterType.IsAssignableFrom(member.Type)
        && (isArray
            ? member.Index == parameter.Position
            : member.Name.Equals(parameter.Name, StringComparison.OrdinalIgnoreCase));
}
