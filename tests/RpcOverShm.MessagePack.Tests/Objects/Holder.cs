using MessagePack;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A message with one member of any type.</summary>
[MessagePackObject]
public sealed class Holder<T>
{
    [Key(0)]
    public T? Held { get; set; }
}
