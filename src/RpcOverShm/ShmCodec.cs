using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm;

/// <summary>
/// A serialiser for all messages of a channel or server, instead of the marshallers generated with the service.
/// </summary>
/// <remarks>
/// <para>
/// Each call carries the name of the channel's codec. The server answers with the same codec; if it does not offer the
/// codec, the call fails with <see cref="StatusCode.Unimplemented"/>.
/// </para>
/// <para>Implementations must be thread-safe. Channels and servers do not dispose them.</para>
/// </remarks>
public abstract class ShmCodec
{
    private const int LongestName = 64;

    /// <summary>
    /// Gets the name that identifies the codec to client and server: 1 to 64 letters, digits, '.', '-' or '_'.
    /// </summary>
    /// <remarks>
    /// The name "proto" stands for the generated marshallers and is not allowed. The name must not change.
    /// </remarks>
    public abstract string Name { get; }

    /// <summary>Creates the marshaller of a message type.</summary>
    /// <typeparam name="T">The message type.</typeparam>
    /// <param name="generated">
    /// The marshaller that was generated with the service; the codec may use it. That of a <see cref="ShmMethod"/>
    /// throws <see cref="InvalidOperationException"/> for each message.
    /// </param>
    /// <returns>
    /// The marshaller; null if the codec does not support the type. A server then does not offer the codec for methods
    /// with this type, and a call of such a method on a channel throws <see cref="InvalidOperationException"/>.
    /// </returns>
    /// <remarks>
    /// Called once for each method and direction. The result is kept and used from many threads. An exception is thrown
    /// by <see cref="ShmServer.StartAsync"/>, or by each call of the method on a channel.
    /// </remarks>
    public abstract Marshaller<T>? CreateMarshaller<T>(Marshaller<T> generated)
        where T : class;

    /// <summary>Returns the codec as calls use it.</summary>
    /// <exception cref="ArgumentException">The name is not allowed.</exception>
    internal MarshallerProvider ToProvider()
    {
        string name = Name;
        bool isLegal = name is { Length: > 0 and <= LongestName }
            && name != MarshallerProvider.Generated
            && name.All(c => char.IsAsciiLetterOrDigit(c) || c is '.' or '-' or '_');
        return isLegal
            ? new CodecMarshallers(this, name)
            : throw new ArgumentException(
                $"'{name}' is not a codec's name: "
                + $"1 to {LongestName} letters, digits, '.', '-' or '_', and not 'proto'.");
    }
}
