namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Notes every call and answers unary ones with their request.</summary>
internal sealed class RecordingCallInvoker : CallInvoker
{
    internal List<CallRecord> Calls { get; } = [];

    internal CallRecord LastCall => Calls[^1];

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        Calls.Add(new CallRecord(MethodType.Unary, Blocking: true, host, options, request));
        return (TResponse)(object)request;
    }

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        Calls.Add(new CallRecord(MethodType.Unary, Blocking: false, host, options, request));
        return FakeCalls.Unary((TResponse)(object)request);
    }

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        Calls.Add(new CallRecord(MethodType.ServerStreaming, Blocking: false, host, options, request));
        return FakeCalls.ServerStreaming<TResponse>();
    }

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        Calls.Add(new CallRecord(MethodType.ClientStreaming, Blocking: false, host, options, Request: null));
        return FakeCalls.ClientStreaming<TRequest, TResponse>();
    }

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        Calls.Add(new CallRecord(MethodType.DuplexStreaming, Blocking: false, host, options, Request: null));
        return FakeCalls.DuplexStreaming<TRequest, TResponse>();
    }
}
