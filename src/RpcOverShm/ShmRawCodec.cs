using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>
/// A codec that carries raw bytes, for methods whose messages are <c>byte[]</c> or <see cref="ShmPayload"/>.
/// </summary>
/// <remarks>
/// <para>
/// Other message types are not supported: a server does not offer the codec for their methods, and calls of them fail
/// on a channel.
/// </para>
/// <para>
/// The receiver owns a received array. The sender keeps ownership of an array that it sends, and must not change it
/// before the call has ended, because a call that a stopping server refused is sent again (transparent retry); in a
/// stream, before the write has completed. A method may return the same array any number of times.
/// </para>
/// <para>
/// For files and other bytes, use <see cref="Instance"/>. A proxy or router that forwards messages of another codec
/// uses that codec's name: <c>new ShmRawCodec("msgpack")</c>. To forward messages of the generated marshallers, no
/// codec is needed: create the methods with <see cref="ShmPayload.Marshaller"/>.
/// </para>
/// <para>Thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmRawCodec : ShmCodec
{
    private static readonly Marshaller<byte[]> s_arrays = Marshallers.Create(
        Write,
        static context => context.PayloadAsNewBuffer());

    /// <summary>Creates a codec with the name of the codec whose messages are forwarded.</summary>
    /// <param name="name">
    /// The name, as <see cref="ShmCodec.Name"/> describes it; the channel or server validates it.
    /// </param>
    /// <exception cref="ArgumentNullException">The name is null.</exception>
    public ShmRawCodec(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        Name = name;
    }

    /// <summary>Gets the codec with the name "raw".</summary>
    public static ShmRawCodec Instance { get; } = new("raw");

    /// <inheritdoc/>
    public override string Name { get; }

    /// <inheritdoc/>
    public override Marshaller<T>? CreateMarshaller<T>(Marshaller<T> generated)
    {
        if (typeof(T) == typeof(ShmPayload))
        {
            return (Marshaller<T>)(object)ShmPayload.Marshaller;
        }

        return typeof(T) == typeof(byte[]) ? (Marshaller<T>)(object)s_arrays : null;
    }

    private static void Write(byte[] message, SerializationContext context)
    {
        if (context is FrameSerializationContext ours && ours.IsMessage(message))
        {
            ours.CompleteWithMessage(message);
        }
        else
        {
            context.Complete(message);
        }
    }
}
