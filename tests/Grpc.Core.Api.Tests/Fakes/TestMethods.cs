namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>One method of each kind, with text for messages.</summary>
internal static class TestMethods
{
    internal static Method<string, string> Unary { get; } = Create(MethodType.Unary);

    internal static Method<string, string> ClientStreaming { get; } = Create(MethodType.ClientStreaming);

    internal static Method<string, string> ServerStreaming { get; } = Create(MethodType.ServerStreaming);

    internal static Method<string, string> DuplexStreaming { get; } = Create(MethodType.DuplexStreaming);

    private static Method<string, string> Create(MethodType type)
    {
        return new Method<string, string>(
            type, "test.Echo", type.ToString(), Marshallers.StringMarshaller, Marshallers.StringMarshaller);
    }
}
