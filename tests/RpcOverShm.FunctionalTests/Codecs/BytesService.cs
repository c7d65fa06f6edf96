namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>Echoes byte arrays in all shapes, for clients with their own marshallers.</summary>
internal static class BytesService
{
    private const string Name = "test.Bytes";

    public static Marshaller<byte[]> Plain { get; } = Marshallers.Create(
        static (byte[] message) => message, static message => message);

    public static Method<byte[], byte[]> Method(
        MethodType shape, Marshaller<byte[]>? requests = null, Marshaller<byte[]>? responses = null) =>
        new(shape, Name, shape.ToString(), requests ?? Plain, responses ?? Plain);

    /// <summary>Creates a method whose client serialises its requests with the delegate.</summary>
    public static Method<byte[], byte[]> Writing(MethodType shape, Action<byte[], SerializationContext> serialize) =>
        Method(shape, requests: new Marshaller<byte[]>(serialize, static context => context.PayloadAsNewBuffer()));

    /// <summary>Creates a method whose client parses its responses with the delegate.</summary>
    public static Method<byte[], byte[]> Reading(MethodType shape, Func<DeserializationContext, byte[]> deserialize) =>
        Method(
            shape,
            responses: new Marshaller<byte[]>(static (message, context) => context.Complete(message), deserialize));

    public static ServerServiceDefinition Build() => new EchoMethods<byte[]>(Name, Plain).Build();
}
