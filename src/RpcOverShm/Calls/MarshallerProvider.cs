using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>A codec as the calls see it: its name on the wire, and a marshaller for each message type.</summary>
internal abstract class MarshallerProvider
{
    /// <summary>The name that stands for the generated marshallers where codecs are listed.</summary>
    public const string Generated = "proto";

    /// <summary>The name of the codec, which each call that uses it carries.</summary>
    public abstract string Name { get; }

    /// <summary>Returns the marshaller that replaces the generated one; null if there is none for this type.</summary>
    public abstract Marshaller<T>? TryReplace<T>(Marshaller<T> generated)
        where T : class;

    /// <summary>
    /// Returns the marshaller of a channel: the codec's, or without a codec the generated one, which
    /// <paramref name="withoutCodec"/> may wrap.
    /// </summary>
    /// <exception cref="InvalidOperationException">There is none for this type.</exception>
    public static Marshaller<T> Choose<T>(
        MarshallerProvider? codec, MarshallerProvider? withoutCodec, Marshaller<T> generated)
        where T : class =>
        codec is not null ? codec.Replace(generated)
        : AbsentMarshaller<T>.Is(generated) ? throw AbsentMarshaller<T>.Used()
        : withoutCodec?.Replace(generated) ?? generated;

    /// <summary>Disposes memory that a message has, if there is any: its user never gets it back.</summary>
    public virtual void Release(object? message)
    {
        // Messages are objects of the garbage collector, except those of a provider that says so.
    }

    /// <summary>Returns the marshaller that replaces the generated one.</summary>
    /// <exception cref="InvalidOperationException">The codec has no marshaller for this type.</exception>
    public Marshaller<T> Replace<T>(Marshaller<T> generated)
        where T : class =>
        TryReplace(generated)
        ?? throw new InvalidOperationException($"The codec '{Name}' has no form for messages of type {typeof(T)}.");
}
