namespace RpcOverShm.FunctionalTests.Support;

/// <summary>Methods of a <see cref="Script"/> whose client runs test code while it serialises or parses.</summary>
internal static class ChangedMethods
{
    /// <summary>Returns the method with a delegate that runs before each request is serialised.</summary>
    public static Method<Payload, Payload> Serializing(this Method<Payload, Payload> method, Action before)
    {
        Marshaller<Payload> plain = method.RequestMarshaller;
        var requests = new Marshaller<Payload>(
            (message, context) =>
            {
                before();
                plain.ContextualSerializer(message, context);
            },
            plain.ContextualDeserializer);
        return new Method<Payload, Payload>(
            method.Type, method.ServiceName, method.Name, requests, method.ResponseMarshaller);
    }

    /// <summary>Returns the method with a delegate that parses responses.</summary>
    public static Method<Payload, Payload> Parsing(this Method<Payload, Payload> method, Func<byte[], Payload> parse) =>
        new(
            method.Type,
            method.ServiceName,
            method.Name,
            method.RequestMarshaller,
            Marshallers.Create((Payload _) => [], parse));
}
