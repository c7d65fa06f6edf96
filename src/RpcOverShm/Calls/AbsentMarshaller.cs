using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>
/// The marshaller of a method whose messages only codecs serialise. It throws where no codec replaces it. Channels and
/// servers recognise it, so they say that a codec is missing before a message is made.
/// </summary>
internal static class AbsentMarshaller<T>
    where T : class
{
    public static Marshaller<T> Instance { get; } = new(
        static (_, _) => throw Used(),
        static T (DeserializationContext _) => throw Used());

    /// <summary>Returns whether a marshaller is this one.</summary>
    public static bool Is(Marshaller<T> marshaller) => ReferenceEquals(marshaller, Instance);

    public static InvalidOperationException Used() => new(
        $"A method with messages of type {typeof(T)} has no marshallers, because it was created with ShmMethod, and no "
        + "codec replaces them here. Set ShmChannelOptions.Codec and add the same codec to ShmServerOptions.Codecs, or "
        + "create the method with marshallers.");
}
