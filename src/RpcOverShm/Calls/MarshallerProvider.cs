using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>A codec as the calls see it: its name on the wire, and a marshaller for each message type.</summary>
internal abstract class MarshallerProvider
{
    /// <summary>The name of the codec, which each call that uses it carries.</summary>
    public abstract string Name { get; }

    /// <summary>Returns the marshaller that replaces the generated one; null if there is none for this type.</summary>
    public abstract Marshaller<T>? TryReplace<T>(Marshaller<T> generated)
        where T : class;

    /// <summary>Returns the marshaller that replaces the generated one.</summary>
    /// <exception cref="InvalidOperationException">The codec has no marshaller for this type.</exception>
    public Marshaller<T> Replace<T>(Marshaller<T> generated)
        where T : class =>
        TryReplace(generated)
        ?? throw new InvalidOperationException($"The codec '{Name}' has no form for messages of type {typeof(T)}.");
}
