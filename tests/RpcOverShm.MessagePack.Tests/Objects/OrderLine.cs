using MessagePack;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A part of an order, by names.</summary>
[MessagePackObject(keyAsPropertyName: true)]
public sealed class OrderLine
{
    public string? Text { get; set; }

    public double Price { get; set; }
}
