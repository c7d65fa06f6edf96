namespace MessagePack.Tests.Objects;

/// <summary>A class that is told before it is written and after it was read.</summary>
[MessagePackObject]
public class Receiver : IMessagePackSerializationCallbackReceiver
{
    [Key(0)]
    public int Writes { get; set; }

    [IgnoreMember]
    public int Reads { get; private set; }

    public void OnBeforeSerialize() => Writes++;

    public void OnAfterDeserialize() => Reads++;
}
