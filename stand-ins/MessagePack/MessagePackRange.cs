namespace MessagePack;

/// <summary>What fits into one byte together with its kind.</summary>
public static class MessagePackRange
{
    public const int MaxFixArrayCount = 15;
    public const int MaxFixMapCount = 15;
    public const int MaxFixNegativeInt = -1;
    public const int MaxFixPositiveInt = 127;
    public const int MaxFixStringLength = 31;
    public const int MinFixNegativeInt = -32;
    public const int MinFixStringLength = 0;
}
