using Grpc.Core;

namespace RpcOverShm;

/// <summary>
/// A serialiser for all messages of a channel or server, in place of the marshallers that were generated with the
/// service. The channel's codec travels with each call by its name; the server answers in the same one, and ends a call
/// whose codec it does not offer <see cref="StatusCode.Unimplemented"/>. Implementations are thread-safe.
/// </summary>
public abstract class ShmCodec
{
    /// <summary>
    /// The name by which client and server mean the same serialiser: 1 to 64 letters, digits, '.', '-' or '_'. The name
    /// "proto" stands for the generated marshallers and is not allowed. Does not change.
    /// </summary>
    public abstract string Name { get; }

    /// <summary>
    /// Makes the marshaller for a message type. Called once for each method and direction; the result is kept and
    /// used from many threads. What it throws comes out of <see cref="ShmServer.StartAsync"/>, and out of each call of
    /// the method on a channel.
    /// </summary>
    /// <typeparam name="T">The message type.</typeparam>
    /// <param name="generated">The marshaller that was generated with the service, to fall back on.</param>
    /// <returns>
    /// The marshaller to use; null where the codec has no form for this type. A server then does not offer the codec
    /// for methods with such messages, and a channel's call of one throws <see cref="InvalidOperationException"/>.
    /// </returns>
    public abstract Marshaller<T>? CreateMarshaller<T>(Marshaller<T> generated)
        where T : class;
}
