namespace MessagePack.Tests.Values;

/// <summary>An enum whose values need all of 64 bits.</summary>
#pragma warning disable CA1028 // That it is another is the point.
public enum LargeColour : ulong
#pragma warning restore CA1028
{
    None = 0,
    Last = ulong.MaxValue,
}
