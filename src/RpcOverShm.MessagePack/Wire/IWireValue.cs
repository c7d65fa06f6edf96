namespace RpcOverShm.MessagePack.Wire;

/// <summary>
/// How one kind of value is written and read. Implemented by empty structs that are only ever type arguments, so that
/// the collections of every kind are compiled for it without boxing, delegates or virtual calls.
/// </summary>
/// <typeparam name="T">The value's type in generated code.</typeparam>
internal interface IWireValue<T>
{
    /// <summary>How many bytes <see cref="Write"/> will write.</summary>
    static abstract long Size(T value);

    static abstract void Write(ref MessageWriter writer, T value);

    /// <summary>Reads a value; nil is the default value of the kind, which is never null.</summary>
    static abstract T Read(ref MessageReader reader);
}

/// <summary>A kind of value that has a default, which a field without presence does not write.</summary>
/// <typeparam name="T">The value's type in generated code.</typeparam>
internal interface IScalarWire<T> : IWireValue<T>
{
    static abstract T Default { get; }

    static abstract bool IsDefault(T value);
}

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

/// <summary>A well-known wrapper of a number or bool: on the wire a message, in C# a value that may be null.</summary>
internal readonly struct StructWrapperWire<TWire, T> : IWireValue<T?>
    where TWire : struct, IScalarWire<T>
    where T : struct
{
    public static long Size(T? value) => WrapperWire<TWire, T>.Size(value.GetValueOrDefault());

    public static void Write(ref MessageWriter writer, T? value) =>
        WrapperWire<TWire, T>.Write(ref writer, value.GetValueOrDefault());

    public static T? Read(ref MessageReader reader) => WrapperWire<TWire, T>.Read(ref reader);

    /// <summary>Reads a wrapper over the one that came before it for the same field, if any.</summary>
    public static T? Merge(ref MessageReader reader, T? value) =>
        WrapperWire<TWire, T>.Merge(ref reader, value.GetValueOrDefault());
}
