namespace MessagePack;

/// <summary>Says that a type can be written, and that its members say how.</summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Struct, AllowMultiple = false, Inherited = true)]
public class MessagePackObjectAttribute : Attribute
{
    public MessagePackObjectAttribute(bool keyAsPropertyName = false)
    {
        KeyAsPropertyName = keyAsPropertyName;
    }

    public bool KeyAsPropertyName { get; }

    public bool SuppressSourceGeneration { get; set; }
}
