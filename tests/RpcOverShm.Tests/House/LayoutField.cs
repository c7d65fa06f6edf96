namespace RpcOverShm.Tests.House;

/// <summary>A field that two processes share, as the protocol's page or the code has it.</summary>
internal sealed record LayoutField(string Name, int Offset, int Size)
{
    public const string Reserved = "Reserved";

    public int End => Offset + Size;

    public override string ToString() => $"{Name} at {Offset}, {Size} bytes";
}
