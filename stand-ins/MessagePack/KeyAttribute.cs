namespace MessagePack;

/// <summary>The member's place in the array, or its name in the map.</summary>
[AttributeUsage(AttributeTargets.Property | AttributeTargets.Field, AllowMultiple = false, Inherited = true)]
#pragma warning disable CA1019 // The package's parameters are called x.
public class KeyAttribute : Attribute
#pragma warning restore CA1019
{
    public KeyAttribute(int x)
    {
        IntKey = x;
    }

    public KeyAttribute(string x)
    {
        ArgumentNullException.ThrowIfNull(x);
        StringKey = x;
    }

    public int? IntKey { get; }

    public string? StringKey { get; }
}
