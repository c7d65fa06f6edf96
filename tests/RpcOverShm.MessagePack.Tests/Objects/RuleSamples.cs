using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>Types that the codec's rules are about.</summary>
public static class RuleSamples
{
    [Union(0, typeof(Circle))]
    public interface IShape;

    public sealed class OwnDictionary : Dictionary<long, int>;

    public sealed class OwnDictionary<TKey, TValue> : Dictionary<TKey, TValue>
        where TKey : notnull;

    public sealed class OwnSet : HashSet<long>;

    [MessagePackObject]
    public sealed class Circle : IShape
    {
        [Key(0)]
        public int Radius { get; set; }
    }

    [MessagePackObject]
    public sealed class Square : IShape;

    [Union(0, typeof(Circle))]
    [MessagePackObject]
    public class ConcreteUnion;

    [MessagePackObject]
    public class Animal
    {
        [Key(0)]
        public int Legs { get; set; }
    }

    [MessagePackObject]
    public sealed class Dog : Animal
    {
        [Key(1)]
        public string Name { get; set; } = "";

        [Key(2)]
        public string? Owner { get; set; }
    }

    [MessagePackObject]
    public sealed class Forgetful
    {
        [Key(0)]
        public int Kept { get; set; }

#pragma warning disable MsgPack004 // The mistake that it is a sample of.
        public int Forgotten { get; set; }
#pragma warning restore MsgPack004
    }

    [MessagePackObject]
    public sealed class Typeless
    {
        [Key(0)]
        [MessagePackFormatter(typeof(TypelessFormatter))]
        public object? Anything { get; set; }
    }

    [MessagePackObject]
    public sealed class Named
    {
        [Key(0)]
        [MessagePackFormatter(typeof(KnownTypeFormatter))]
        public Type? Type { get; set; }
    }

    /// <summary>Is complete only when it is written.</summary>
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

    /// <summary>Somebody's own way to write a type, which takes one.</summary>
    public sealed class KnownTypeFormatter : IMessagePackFormatter<Type?>
    {
        public void Serialize(ref MessagePackWriter writer, Type? value, MessagePackSerializerOptions options) =>
            writer.Write(value == typeof(int));

        public Type? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) =>
            reader.ReadBoolean() ? typeof(int) : null;
    }

    /// <summary>Writes a class with the help of a formatter that no declaration shows.</summary>
    public sealed class HidingFormatter : IMessagePackFormatter<Plain?>
    {
        public void Serialize(ref MessagePackWriter writer, Plain? value, MessagePackSerializerOptions options) =>
            options.Resolver.GetFormatterWithVerify<Type>().Serialize(ref writer, typeof(Plain), options);

        public Plain? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) => null;
    }
}
