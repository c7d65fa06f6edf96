using System.Runtime.CompilerServices;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>An enum: an open one, whose value may be any int32, also one without a name.</summary>
internal readonly struct EnumWire<T> : IScalarWire<T>
    where T : struct, Enum
{
    public static T Default => default;

    public static bool IsDefault(T value) => Unsafe.BitCast<T, int>(value) == 0;

    public static long Size(T value) => WireSize.Signed(Unsafe.BitCast<T, int>(value));

    public static void Write(ref MessageWriter writer, T value) => writer.WriteSigned(Unsafe.BitCast<T, int>(value));

    public static T Read(ref MessageReader reader) => Unsafe.BitCast<int, T>(reader.ReadInt32());
}
