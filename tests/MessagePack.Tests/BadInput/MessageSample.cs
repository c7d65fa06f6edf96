namespace MessagePack.Tests.BadInput;

/// <summary>A message, and the type of what it holds.</summary>
internal sealed record MessageSample(Type Type, byte[] Bytes)
{
    internal static MessageSample Of<T>(T value) => new(typeof(T), MessagePackSerializer.Serialize(value));
}
