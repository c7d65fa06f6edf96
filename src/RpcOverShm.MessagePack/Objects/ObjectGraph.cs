using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using MessagePack;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>
/// The declared types that a message can contain: members, elements, type arguments and unions. The search does not
/// look into types with a custom formatter. Not thread-safe.
/// </summary>
internal sealed class ObjectGraph(Type message, MessagePackSerializerOptions options)
{
    private readonly HashSet<Type> _seen = [];
    private readonly Stack<(Type Type, string? Holder)> _pending = [];

    /// <summary>Checks all types against the codec's rules.</summary>
    /// <exception cref="NotSupportedException">The message contains a type that the codec refuses.</exception>
    public void Check()
    {
        // Without dynamic code, formatters of types known only at run time cannot be created. Each type is then checked
        // when it is first used.
        if (!RuntimeFeature.IsDynamicCodeSupported)
        {
            return;
        }

        _pending.Push((message, null));
        while (_pending.TryPop(out (Type Type, string? Holder) next))
        {
            if (_seen.Add(next.Type))
            {
                CheckOne(next.Type, next.Holder);
            }
        }
    }

    /// <summary>Creates the exception that refuses a message type.</summary>
    /// <param name="message">The type of the message.</param>
    /// <param name="type">The refused type.</param>
    /// <param name="holder">The member that contains the type; null for the message itself.</param>
    /// <param name="wrong">The reason: the rest of the sentence.</param>
    public static NotSupportedException Refusal(Type message, Type type, string? holder, string wrong) => new(
        $"The codec 'msgpack' can't take messages of type {message}: "
        + $"{(holder is null ? $"{type}" : $"{holder} holds {type}, which")} {wrong}.");

    /// <summary>
    /// Returns the rest of a sentence about a type for which the package can't make a formatter. The package wraps its
    /// reason in one or more exceptions that give none.
    /// </summary>
    public static string ReasonOf(Exception exception) => ObjectType.IsTrimmed
        ? FormatterRules.IsNotGenerated
        : $"can't be written ({exception.GetBaseException().Message.TrimEnd('.')}); "
            + "give each public member a [Key] of its own or [IgnoreMember]";

    [UnconditionalSuppressMessage("AOT", "IL3050", Justification = "Not where code can't be made.")]
    private void CheckOne(Type type, string? holder)
    {
        Type? formatter;
        try
        {
            formatter = ((CheckedResolver)options.Resolver).Inner.GetFormatterDynamic(type)?.GetType();
        }
        catch (Exception exception) when (exception is MessagePackSerializationException or TypeInitializationException)
        {
            throw Refusal(message, type, holder, ReasonOf(exception));
        }

        if (formatter is null)
        {
            // The codec does not support such a message type, which is no error: it creates no marshaller.
            string? unknown = holder is null
                ? null
                : "has no form; give the class [MessagePackObject], or its interface [Union]";
            Refuse(FormatterRules.WhatIsMissing(type) ?? unknown);
            return;
        }

        Refuse(FormatterRules.WhatIsWrong(formatter, type));
        Type[] held = formatter.GetGenericArguments();
        bool isOwn = FormatterRules.IsOnesOwn(formatter, type);
        if (ObjectType.IsDescribed(type)
            && !FormatterRules.IsNamedBy(type, formatter)
            && (held.Length == 0 || !FormatterRules.IsOfPackage(formatter)))
        {
            CheckMembers(type, isOwn);
        }

        if (isOwn)
        {
            return;
        }

        foreach (Type one in held.Concat(ObjectType.UnionOf(type)))
        {
            _pending.Push((one, holder ?? $"{type}"));
        }

        void Refuse(string? wrong)
        {
            if (wrong is not null)
            {
                throw Refusal(message, type, holder, wrong);
            }
        }
    }

    /// <summary>
    /// Checks the members of a type with attributes; if <paramref name="isOwn"/>, only the formatters that attributes
    /// of the members name.
    /// </summary>
    private void CheckMembers(Type type, bool isOwn)
    {
        bool allowsPrivate = ((CheckedResolver)options.Resolver).AllowsPrivate;
        foreach ((MemberInfo member, Type held) in ObjectType.MembersOf(type, allowsPrivate))
        {
            string name = $"{type}.{member.Name}";
            if (member.GetCustomAttribute<MessagePackFormatterAttribute>()?.FormatterType is not { } formatter)
            {
                if (!isOwn)
                {
                    _pending.Push((held, name));
                }
            }
            else if (FormatterRules.WhatIsWrong(formatter, held) is { } wrong)
            {
                throw Refusal(message, held, name, wrong);
            }
        }
    }
}
