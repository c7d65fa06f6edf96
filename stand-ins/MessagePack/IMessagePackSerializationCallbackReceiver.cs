namespace MessagePack;

/// <summary>Is told before it is written and after it was read.</summary>
public interface IMessagePackSerializationCallbackReceiver
{
    void OnBeforeSerialize();

    void OnAfterDeserialize();
}
