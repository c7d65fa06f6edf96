namespace MessagePack;

/// <summary>What .NET itself says of exceptions that are written by the old formatters.</summary>
internal static class SerializationNote
{
    internal const string Id = "SYSLIB0051";

    internal const string Message = "This API supports obsolete formatter-based serialization. Do not call it.";
}
