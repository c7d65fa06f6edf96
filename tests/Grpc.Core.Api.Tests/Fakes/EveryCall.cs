namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Starts one call of each kind on an invoker: what an interceptor does must not depend on the kind.</summary>
internal static class EveryCall
{
    internal static readonly string[] Kinds = ["blocking", "unary", "server streaming", "client streaming", "duplex"];

    internal static void Start(string kind, CallInvoker invoker, CallOptions options = default)
    {
        switch (kind)
        {
            case "blocking":
                invoker.BlockingUnaryCall(TestMethods.Unary, null, options, "request");
                break;
            case "unary":
                invoker.AsyncUnaryCall(TestMethods.Unary, null, options, "request").Dispose();
                break;
            case "server streaming":
                invoker.AsyncServerStreamingCall(TestMethods.ServerStreaming, null, options, "request").Dispose();
                break;
            case "client streaming":
                invoker.AsyncClientStreamingCall(TestMethods.ClientStreaming, null, options).Dispose();
                break;
            default:
                invoker.AsyncDuplexStreamingCall(TestMethods.DuplexStreaming, null, options).Dispose();
                break;
        }
    }
}
