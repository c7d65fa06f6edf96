namespace RpcOverShm.MessagePack.Wire;

/// <summary>A kind of value that has a default, which a field without presence does not write.</summary>
/// <typeparam name="T">The value's type in generated code.</typeparam>
internal interface IScalarWire<T> : IWireValue<T>
{
    static abstract T Default { get; }

    static abstract bool IsDefault(T value);
}
