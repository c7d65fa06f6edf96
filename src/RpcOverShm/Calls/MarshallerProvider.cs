using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>
/// A serialiser for all messages, as the calls see it: its name on the wire, and a marshaller for each type.
/// </summary>
internal abstract class MarshallerProvider
{
    /// <summary>Goes with each call that uses it.</summary>
    public abstract string Name { get; }

    /// <summary>The marshaller to use in place of the generated one; null where there is none for this type.</summary>
    public abstract Marshaller<T>? TryReplace<T>(Marshaller<T> generated)
        where T : class;

    /// <summary>The marshaller to use in place of the generated one.</summary>
    /// <exception cref="InvalidOperationException">There is none for this type.</exception>
    public Marshaller<T> Replace<T>(Marshaller<T> generated)
        where T : class =>
        TryReplace(generated)
        ?? throw new InvalidOperationException($"The codec '{Name}' has no form for messages of type {typeof(T)}.");
}
