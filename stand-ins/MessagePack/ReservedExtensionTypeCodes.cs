namespace MessagePack;

/// <summary>The type codes of extensions that the package keeps for itself.</summary>
public static class ReservedExtensionTypeCodes
{
    public const sbyte Lz4Block = 99;
    public const sbyte Lz4BlockArray = 98;
    public const sbyte UnityBounds = 35;
    public const sbyte UnityColor = 34;
    public const sbyte UnityDouble = 39;
    public const sbyte UnityFloat = 38;
    public const sbyte UnityInt = 37;
    public const sbyte UnityQuaternion = 33;
    public const sbyte UnityRect = 36;
    public const sbyte UnityVector2 = 30;
    public const sbyte UnityVector3 = 31;
    public const sbyte UnityVector4 = 32;
}
