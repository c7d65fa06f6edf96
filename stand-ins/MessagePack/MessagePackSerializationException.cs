using System.Runtime.Serialization;

namespace MessagePack;

/// <summary>The message is not what it should be, or the value cannot be written.</summary>
[Serializable]
public class MessagePackSerializationException : Exception
{
    public MessagePackSerializationException()
    {
    }

    public MessagePackSerializationException(string? message)
        : base(message)
    {
    }

    public MessagePackSerializationException(string? message, Exception? inner)
        : base(message, inner)
    {
    }

    [Obsolete(SerializationNote.Message, DiagnosticId = SerializationNote.Id)]
    protected MessagePackSerializationException(SerializationInfo info, StreamingContext context)
        : base(info, context)
    {
    }
}
