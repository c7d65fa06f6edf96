using System.Runtime.Serialization;

namespace MessagePack;

/// <summary>No resolver knows how to write the type.</summary>
[Serializable]
#pragma warning disable CA1032 // The package has no other constructors.
public class FormatterNotRegisteredException : MessagePackSerializationException
#pragma warning restore CA1032
{
    public FormatterNotRegisteredException(string? message)
        : base(message)
    {
    }

    [Obsolete(SerializationNote.Message, DiagnosticId = SerializationNote.Id)]
    protected FormatterNotRegisteredException(SerializationInfo info, StreamingContext context)
        : base(info, context)
    {
    }
}
