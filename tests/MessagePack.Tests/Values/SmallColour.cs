namespace MessagePack.Tests.Values;

/// <summary>An enum of another underlying type.</summary>
#pragma warning disable CA1028 // That it is another is the point.
public enum SmallColour : byte
#pragma warning restore CA1028
{
    None = 0,
    Last = 255,
}
