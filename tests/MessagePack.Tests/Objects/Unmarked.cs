namespace MessagePack.Tests.Objects;

/// <summary>
/// A class that forgets to say of a member whether it is written; the package's analyzer finds it too.
/// </summary>
[MessagePackObject(SuppressSourceGeneration = true)]
public class Unmarked
{
    [Key(0)]
    public int Number { get; set; }

#pragma warning disable MsgPack004
    public int Forgotten { get; set; }
#pragma warning restore MsgPack004
}
