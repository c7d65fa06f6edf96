namespace MessagePack;

/// <summary>Marks the constructor that reading uses.</summary>
[AttributeUsage(AttributeTargets.Constructor, AllowMultiple = false, Inherited = true)]
public class SerializationConstructorAttribute : Attribute
{
}
