namespace MessagePack.Tests.Values;

/// <summary>An enum of a signed type of one byte.</summary>
#pragma warning disable CA1028 // That it is another is the point.
public enum Signed8 : sbyte
#pragma warning restore CA1028
{
    None = 0,
    Lowest = sbyte.MinValue,
}
