namespace RpcOverShm.MessagePack.Wire;

/// <summary>A well-known wrapper of a string or of bytes: on the wire a message, in C# the value or null.</summary>
internal readonly struct ClassWrapperWire<TWire, T> : IWireValue<T>
    where TWire : struct, IScalarWire<T>
    where T : class
{
    public static long Size(T value) => WrapperWire<TWire, T>.Size(value);

    public static void Write(ref MessageWriter writer, T value) => WrapperWire<TWire, T>.Write(ref writer, value);

    public static T Read(ref MessageReader reader) => WrapperWire<TWire, T>.Read(ref reader);

    /// <summary>Reads a wrapper over the one that came before it for the same field, if any.</summary>
    public static T Merge(ref MessageReader reader, T? value) =>
        WrapperWire<TWire, T>.Merge(ref reader, value ?? TWire.Default);
}
