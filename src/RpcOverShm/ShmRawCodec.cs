using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>
/// Bytes as they are, for methods whose messages are <c>byte[]</c> or <see cref="ShmPayload"/>. Other types have no
/// raw form: on a server their methods go without this codec, on a channel calls of them fail. Thread-safe.
/// <para>
/// An array that is received is its receiver's. One that is sent stays its owner's, who must not change it before the
/// call has ended, since a call that a leaving server has refused unseen is sent again; of a stream, before its write
/// has completed. A method may return the same array any number of times.
/// </para>
/// </summary>
/// <remarks>
/// Files and other bytes go under the codec's own name, <see cref="Instance"/>. A proxy or router whose bytes are
/// another codec's messages passes them on under that codec's name, <c>new ShmRawCodec("msgpack")</c>; those of the
/// generated marshallers need no codec at all: such methods are made with <see cref="ShmPayload.Marshaller"/>.
/// </remarks>
public sealed class ShmRawCodec : ShmCodec
{
    private static readonly Marshaller<byte[]> s_arrays = Marshallers.Create(
        Write,
        static context => context.PayloadAsNewBuffer());

    /// <summary>A codec of another name: that of the serialiser whose messages are passed on.</summary>
    /// <param name="name">
    /// The name to go by, as <see cref="ShmCodec.Name"/> allows; checked where the codec is used.
    /// </param>
    /// <exception cref="ArgumentNullException">The name is null.</exception>
    public ShmRawCodec(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        Name = name;
    }

    /// <summary>The codec of the name "raw".</summary>
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
