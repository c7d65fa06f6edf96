namespace MessagePack;

/// <summary>One of the types that a value of the interface or abstract class can have, and its number.</summary>
[AttributeUsage(AttributeTargets.Interface | AttributeTargets.Class, AllowMultiple = true, Inherited = false)]
public class UnionAttribute : Attribute
{
    public UnionAttribute(int key, Type subType)
    {
        ArgumentNullException.ThrowIfNull(subType);
        Key = key;
        SubType = subType;
    }

    public UnionAttribute(int key, string subType)
        : this(key, Type.GetType(subType, throwOnError: true)!)
    {
    }

    public int Key { get; }

    public Type SubType { get; }
}
