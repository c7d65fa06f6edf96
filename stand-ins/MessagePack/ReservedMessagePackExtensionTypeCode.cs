namespace MessagePack;

/// <summary>The type codes of extensions that the format itself defines.</summary>
public static class ReservedMessagePackExtensionTypeCode
{
    public const sbyte DateTime = -1;
}
