namespace RpcOverShm.MessagePack.Wire;

/// <summary>string</summary>
internal readonly struct StringWire : IScalarWire<string>
{
    public static string Default => "";

    public static bool IsDefault(string value) => value.Length == 0;

    public static long Size(string value) => WireSize.String(value);

    public static void Write(ref MessageWriter writer, string value) => writer.WriteString(value);

    public static string Read(ref MessageReader reader) => reader.ReadString();
}
