namespace MessagePack.Tests.Objects;

/// <summary>A class as a map with names of its own.</summary>
[MessagePackObject]
public class Person
{
    [Key("n")]
    public string Name { get; set; } = "nobody";

    [Key("age")]
    public int Age { get; set; } = -1;
}
