namespace MessagePack.Tests.Values;

/// <summary>An enum whose values are spread out.</summary>
public enum Colour
{
    None = 0,
    Red = 1,
    Green = 300,
    Negative = -70000,
}
