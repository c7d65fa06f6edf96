using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.Tests.Clients;

public class ObservableCallInvokerTests
{
    [Test]
    public void Calls_WithoutListeners_PassUnchangedAndAllocateNothing()
    {
        var inner = new FixedInvoker();
        var invoker = new ObservableCallInvoker(inner, "shm://any");
        Payload request = Payloads.Of("request");
        var options = new CallOptions(new Grpc.Core.Metadata { { "key", "value" } });
        CallAll(); // The first calls through a call site may allocate in the runtime, once.
        long before = GC.GetAllocatedBytesForCurrentThread();

        CallAll();

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(1000));
        Assert.That(inner.Seen.Headers, Is.SameAs(options.Headers));

        void CallAll()
        {
            for (int i = 0; i < 1000; i++)
            {
                _ = invoker.BlockingUnaryCall(Script.UnaryMethod, "host", options, request);
                _ = invoker.AsyncUnaryCall(Script.UnaryMethod, "host", options, request);
                _ = invoker.AsyncServerStreamingCall(Script.ServerStreamMethod, "host", options, request);
                _ = invoker.AsyncClientStreamingCall(Script.ClientStreamMethod, "host", options);
                _ = invoker.AsyncDuplexStreamingCall(Script.DuplexMethod, "host", options);
            }
        }
    }

    private sealed class FixedInvoker : CallInvoker
    {
        public CallOptions Seen { get; private set; }

        public override TResponse BlockingUnaryCall<TRequest, TResponse>(
            Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
            (TResponse)(object)Note(options, request);

        public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
            Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
            Note<AsyncUnaryCall<TResponse>>(options, null!);

        public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
            Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
            Note<AsyncServerStreamingCall<TResponse>>(options, null!);

        public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
            Method<TRequest, TResponse> method, string? host, CallOptions options) =>
            Note<AsyncClientStreamingCall<TRequest, TResponse>>(options, null!);

        public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
            Method<TRequest, TResponse> method, string? host, CallOptions options) =>
            Note<AsyncDuplexStreamingCall<TRequest, TResponse>>(options, null!);

        private T Note<T>(CallOptions options, T result)
        {
            Seen = options;
            return result;
        }
    }
}
