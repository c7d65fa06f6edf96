using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using MessagePack;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>
/// All types that a message can hold by its declarations: members, elements, type arguments and unions. A formatter of
/// one's own is where the search ends. Used by one thread.
/// </summary>
internal sealed class ObjectGraph(Type message, MessagePackSerializerOptions options)
{
    private readonly HashSet<Type> _seen = [];
    private readonly Stack<(Type Type, string? Holder)> _pending = [];

    /// <exception cref="NotSupportedException">There is a type that the codec does not take.</exception>
    public void Check()
    {
        // Formatters of types that are only known at run time can't be had otherwise. Each is then checked when used.
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

    /// <summary>The refusal of a message, in one sentence.</summary>
    /// <param name="message">The type of the message.</param>
    /// <param name="type">The type that is wrong.</param>
    /// <param name="holder">The member that holds it; null for the message itself.</param>
    /// <param name="wrong">The end of the sentence.</param>
    public static NotSupportedException Refusal(Type message, Type type, string? holder, string wrong) => new(
        $"The codec 'msgpack' can't take messages of type {message}: "
        + $"{(holder is null ? $"{type}" : $"{holder} holds {type}, which")} {wrong}.");

    /// <summary>The reason of the package, which it wraps in one or more exceptions without one.</summary>
    public static string ReasonOf(Exception exception) =>
        $"can't be written ({exception.GetBaseException().Message.TrimEnd('.')}); "
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
            // The codec itself has no form for such a message, which is no error.
            Refuse(holder is null ? null : "has no form; give the class [MessagePackObject], or its interface [Union]");
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

    /// <param name="type">A type with attributes.</param>
    /// <param name="isOwn">Only the formatters that its members name are looked at.</param>
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
