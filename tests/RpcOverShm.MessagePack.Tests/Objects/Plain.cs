namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A class without any attribute.</summary>
public sealed class Plain
{
    public int Number { get; set; }
}
