namespace RpcOverShm.MessagePack.Wire;

/// <summary>bool</summary>
internal readonly struct BoolWire : IScalarWire<bool>
{
    public static bool Default => false;

    public static bool IsDefault(bool value) => !value;

    public static long Size(bool value) => 1;

    public static void Write(ref MessageWriter writer, bool value) => writer.WriteBoolean(value);

    public static bool Read(ref MessageReader reader) => reader.ReadBoolean();
}
