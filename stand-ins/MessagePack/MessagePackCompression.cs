namespace MessagePack;

public enum MessagePackCompression
{
    None = 0,
    Lz4Block = 1,
    Lz4BlockArray = 2,
}
