namespace MessagePack.Objects;

/// <summary>Tells objects that want to know; a struct may change itself then.</summary>
internal static class Callbacks
{
    internal static T Before<T>(T value)
    {
        if (value is not IMessagePackSerializationCallbackReceiver receiver)
        {
            return value;
        }

        receiver.OnBeforeSerialize();
        return (T)receiver;
    }

    internal static T After<T>(T value)
    {
        if (value is not IMessagePackSerializationCallbackReceiver receiver)
        {
            return value;
        }

        receiver.OnAfterDeserialize();
        return (T)receiver;
    }
}
