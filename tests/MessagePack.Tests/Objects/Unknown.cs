namespace MessagePack.Tests.Objects;

/// <summary>A class that does not say how to write it.</summary>
public class Unknown
{
    public int Number { get; set; }
}
