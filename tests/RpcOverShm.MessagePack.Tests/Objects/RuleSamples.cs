using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>Sample types for the codec's rules.</summary>
public static class RuleSamples
{
    [Union(0, typeof(Circle))]
    public interface IShape;

    public sealed class OwnDictionary : Dictionary<long, int>;

    public sealed class OwnDictionary<TKey, TValue> : Dictionary<TKey, TValue>
        where TKey : notnull;

    public sealed class OwnSet : HashSet<long>;

    [MessagePackObject]
    public sealed record Holder<T>([property: Key(0)] T? Held);

    [MessagePackObject]
    public sealed record Circle([property: Key(0)] int Radius) : IShape;

    [MessagePackObject]
    public sealed record Square : IShape;

    [Union(0, typeof(Circle))]
    [MessagePackObject]
    public record ConcreteUnion;

    [MessagePackObject]
    public record Animal([property: Key(0)] int Legs);

    [MessagePackObject]
    public sealed record Dog(int Legs, [property: Key(1)] string Name, [property: Key(2)] string? Owner = null)
        : Animal(Legs);

#pragma warning disable MsgPack004 // The sample shows this mistake.
    [MessagePackObject]
    public sealed record Forgetful(int Forgotten);
#pragma warning restore MsgPack004

    [MessagePackObject]
    public sealed record Typeless(
        [property: Key(0), MessagePackFormatter(typeof(TypelessFormatter))] object? Anything);

    [MessagePackObject]
    public sealed record Named(
        [property: Key(0), MessagePackFormatter(typeof(KnownTypeFormatter))] Type? Type);

    /// <summary>Has a formatter in the <see cref="AnnouncedResolver"/>.</summary>
    [MessagePackObject]
    public sealed record Sourced([property: Key(0)] Type? Type);

    [MessagePackObject, MessagePackFormatter(typeof(OwnFormatter))]
    public sealed record Authored([property: Key(0)] Type? Type)
    {
        public sealed class OwnFormatter : NilFormatter<Authored>;
    }

    [MessagePackObject(keyAsPropertyName: true)]
    public sealed class Unwritten
    {
        public Type? Given { set => _ = value; }
    }

    [MessagePackObject(AllowPrivate = true)]
    public sealed class Private
    {
        [Key(0)] internal Type? Type { get; set; }
    }

    /// <summary>Has a member that is not serialized.</summary>
    [MessagePackObject]
    public sealed class Unseen
    {
        [Key(0)] internal Type? Type { get; set; } = typeof(int);
    }

    public class Overridden
    {
        public virtual Type? Type { get; set; }
        public virtual string? Name { get; set; }
    }

    [MessagePackObject(keyAsPropertyName: true)]
    public sealed class Overriding : Overridden
    {
        [IgnoreMember] public override Type? Type { get; set; }
        public override string? Name { get; set; }
    }

    [MessagePackObject]
    public sealed record OwnNull([property: Key(0), MessagePackFormatter(typeof(NilFormatter<string>))] string Text);

    public class NilFormatter<T> : IMessagePackFormatter<T?>
    {
        public void Serialize(ref MessagePackWriter writer, T? value, MessagePackSerializerOptions options) =>
            writer.WriteNil();

        public T? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) => default;
    }

    /// <summary>Sets its content in the callback before serialization.</summary>
    [MessagePackObject]
    public sealed class Late : IMessagePackSerializationCallbackReceiver
    {
        [Key(0)]
        public string Text { get; set; } = null!;

        public void OnBeforeSerialize() => Text = "late";

        public void OnAfterDeserialize()
        {
        }
    }

    /// <summary>A user's formatter for <see cref="Type"/>.</summary>
    public sealed class KnownTypeFormatter : IMessagePackFormatter<Type?>
    {
        public void Serialize(ref MessagePackWriter writer, Type? value, MessagePackSerializerOptions options) =>
            writer.Write(value == typeof(int));

        public Type? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
            reader.ReadBoolean() ? typeof(int) : null;
    }

    /// <summary>A formatter that uses another one which no declaration shows.</summary>
    public sealed class HidingFormatter : IMessagePackFormatter<Plain?>
    {
        public void Serialize(ref MessagePackWriter writer, Plain? value, MessagePackSerializerOptions options) =>
            options.Resolver.GetFormatterWithVerify<Type>().Serialize(ref writer, typeof(Plain), options);

        public Plain? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) => null;
    }
}

/// <summary>A resolver as the package's source generator makes it, named by an attribute of the assembly.</summary>
internal sealed class AnnouncedResolver : IFormatterResolver
{
    // MessagePack finds the field by its name.
    public static readonly IFormatterResolver Instance = new AnnouncedResolver();

    public IMessagePackFormatter<T>? GetFormatter<T>() =>
        typeof(T) == typeof(RuleSamples.Sourced) ? (IMessagePackFormatter<T>)(object)new SourcedFormatter() : null;

    private sealed class SourcedFormatter : RuleSamples.NilFormatter<RuleSamples.Sourced>;
}

/// <summary>A user's formatter for a class without attributes.</summary>
internal sealed class PlainFormatter : IMessagePackFormatter<Plain?>
{
    public void Serialize(ref MessagePackWriter writer, Plain? value, MessagePackSerializerOptions options) =>
        writer.Write(value!.Number);

    public Plain? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
        new() { Number = reader.ReadInt32() };
}

public sealed class Plain
{
    public int Number { get; set; }
}
