using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using MessagePack.Formatters;
using MessagePack.Resolvers;

namespace MessagePack.Objects;

internal sealed class ObjectMember<T, TValue> : ObjectMember<T>
{
    private readonly Getter<T, TValue>? _get;
    private readonly Setter<T, TValue>? _set;
    private readonly IMessagePackFormatter<TValue>? _own;
    private Resolved? _resolved;

    [SetsRequiredMembers]
    internal ObjectMember(PlannedMember planned)
    {
        Index = planned.Index;
        Name = planned.Member.Name;
        Key = planned.EncodedKey;
        _get = Accessors<T, TValue>.MakeGetter(planned.Member);
        _set = Accessors<T, TValue>.MakeSetter(planned.Member);
        _own = OwnFormatter(planned.Member);
    }

    internal override Type Type => typeof(TValue);

    internal override bool CanGet => _get is not null;

    internal override bool CanSet => _set is not null;

    internal override void Write(
        ref MessagePackWriter writer, ref T target, MessagePackSerializerOptions options) =>
        Formatter(options).Serialize(ref writer, _get!(ref target), options);

    internal override void Read(
        ref MessagePackReader reader, ref T target, MessagePackSerializerOptions options) =>
        _set!(ref target, Formatter(options).Deserialize(ref reader, options));

    internal override object? ReadApart(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        Formatter(options).Deserialize(ref reader, options);

    internal override void Set(ref T target, object? value) => _set!(ref target, (TValue)value!);

    /// <summary>One that the member names; none is looked for where the value is a number or truth.</summary>
    private static IMessagePackFormatter<TValue>? OwnFormatter(MemberInfo member)
    {
        if (member.GetCustomAttribute<MessagePackFormatterAttribute>(inherit: true) is { } attribute)
        {
            return (IMessagePackFormatter<TValue>)NamedFormatter.Create(attribute, typeof(TValue));
        }

        return typeof(TValue).IsPrimitive ? BuiltinResolver.Instance.GetFormatter<TValue>() : null;
    }

    private IMessagePackFormatter<TValue> Formatter(MessagePackSerializerOptions options)
    {
        if (_own is not null)
        {
            return _own;
        }

        Resolved? resolved = Volatile.Read(ref _resolved);
        if (resolved is null || !ReferenceEquals(resolved.Resolver, options.Resolver))
        {
            resolved = new Resolved(options.Resolver, options.Resolver.GetFormatterWithVerify<TValue>());
            Volatile.Write(ref _resolved, resolved);
        }

        return resolved.Formatter;
    }

    /// <summary>What the resolver answered that was asked last; almost always there is only one.</summary>
    private sealed record Resolved(IFormatterResolver Resolver, IMessagePackFormatter<TValue> Formatter);
}
