namespace MessagePack.Tests.Objects;

/// <summary>A class with several constructors, of which one is marked, and members that no setter sets.</summary>
[MessagePackObject]
public class Constructed
{
    public Constructed()
    {
        Used = "none";
    }

    [SerializationConstructor]
    public Constructed(string name)
    {
        Name = name;
        Used = "name";
    }

    public Constructed(string name, int size)
    {
        Name = name;
        Size = size;
        Used = "name and size";
    }

    [Key("name")]
    public string? Name { get; }

    [Key("size")]
    public int Size { get; set; }

    [IgnoreMember]
    public string Used { get; }
}
