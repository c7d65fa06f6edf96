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
