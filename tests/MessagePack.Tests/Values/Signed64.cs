namespace MessagePack.Tests.Values;

/// <summary>An enum of the longest signed type.</summary>
#pragma warning disable CA1028 // That it is another is the point.
public enum Signed64 : long
#pragma warning restore CA1028
{
    None = 0,
    Lowest = long.MinValue,
}
