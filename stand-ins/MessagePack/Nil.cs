namespace MessagePack;

/// <summary>The one value of nil, for where a type is needed.</summary>
public struct Nil : IEquatable<Nil>
{
    public static readonly Nil Default;

#pragma warning disable IDE0060 // All are equal, whichever they are.
    public static bool operator ==(Nil left, Nil right) => true;

    public static bool operator !=(Nil left, Nil right) => false;
#pragma warning restore IDE0060

    public readonly override bool Equals(object? obj) => obj is Nil;

    public readonly bool Equals(Nil other) => true;

    public readonly override int GetHashCode() => 0;

    public readonly override string ToString() => "()";
}
