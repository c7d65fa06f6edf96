namespace RpcOverShm.MessagePack.Wire;

/// <summary>
/// Reads and writes one kind of value. The implementations are empty structs that serve only as type arguments, so the
/// code of each collection is compiled for its kind without boxing, delegates or virtual calls.
/// </summary>
/// <typeparam name="T">The type of the value in generated code.</typeparam>
internal interface IWireValue<T>
{
    /// <summary>Returns the number of bytes that <see cref="Write"/> writes.</summary>
    static abstract long Size(T value);

    static abstract void Write(ref MessageWriter writer, T value);

    /// <summary>Reads a value; nil is read as the default of the kind, which is never null.</summary>
    static abstract T Read(ref MessageReader reader);
}

/// <summary>A kind of value with a default, which a field without presence does not write.</summary>
/// <typeparam name="T">The type of the value in generated code.</typeparam>
internal interface IScalarWire<T> : IWireValue<T>
{
    static abstract T Default { get; }

    static abstract bool IsDefault(T value);
}

/// <summary>A well-known wrapper of a string or of bytes: a message on the wire, the value or null in C#.</summary>
internal readonly struct ClassWrapperWire<TWire, T> : IWireValue<T>
    where TWire : struct, IScalarWire<T>
    where T : class
{
    public static long Size(T value) => WrapperWire<TWire, T>.Size(value);

    public static void Write(ref MessageWriter writer, T value) => WrapperWire<TWire, T>.Write(ref writer, value);

    public static T Read(ref MessageReader reader) => WrapperWire<TWire, T>.Read(ref reader);

    /// <summary>Reads a wrapper over an earlier value of the same field, if any.</summary>
    public static T Merge(ref MessageReader reader, T? value) =>
        WrapperWire<TWire, T>.Merge(ref reader, value ?? TWire.Default);
}

/// <summary>A well-known wrapper of a number or bool: a message on the wire, a nullable value in C#.</summary>
internal readonly struct StructWrapperWire<TWire, T> : IWireValue<T?>
    where TWire : struct, IScalarWire<T>
    where T : struct
{
    public static long Size(T? value) => WrapperWire<TWire, T>.Size(value.GetValueOrDefault());

    public static void Write(ref MessageWriter writer, T? value) =>
        WrapperWire<TWire, T>.Write(ref writer, value.GetValueOrDefault());

    public static T? Read(ref MessageReader reader) => WrapperWire<TWire, T>.Read(ref reader);

    /// <summary>Reads a wrapper over an earlier value of the same field, if any.</summary>
    public static T? Merge(ref MessageReader reader, T? value) =>
        WrapperWire<TWire, T>.Merge(ref reader, value.GetValueOrDefault());
}
