using System.Runtime.CompilerServices;
using Grpc.Core;
using Grpc.Core.Interceptors;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// Shows the messages of a client's calls to an observer. Each call gets a method object of its own, whose marshallers
/// know the call. They contain the codec, so the calls' own settings must not apply it again.
/// </summary>
internal sealed class InspectedCalls : Interceptor
{
    private readonly MessageObserver _observer;
    private readonly ClientSettings _settings;
    private readonly bool _isOneWay; // so no response comes that could be shown
    private readonly ConditionalWeakTable<IMethod, object> _methods = []; // with the marshallers of the codec

    private InspectedCalls(MessageObserver observer, ClientSettings settings, bool isOneWay)
    {
        _observer = observer;
        _settings = settings;
        _isOneWay = isOneWay;
    }

    /// <summary>Returns an invoker around the one of the same settings; the same one if nobody observes.</summary>
    public static CallInvoker Around(CallInvoker invoker, ClientSettings settings) => settings.Observer is { } observer
        ? invoker.Intercept(new InspectedCalls(observer, settings, invoker is OneWayCallInvoker))
        : invoker;

    /// <summary>Returns the codec for the settings of calls: one that is applied here, if somebody observes.</summary>
    public static MarshallerProvider? CodecOf(MarshallerProvider? codec, MessageObserver? observer) =>
        codec is null || observer is null ? codec : new AppliedCodec(codec);

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        BlockingUnaryCallContinuation<TRequest, TResponse> continuation) => continuation(request, Inspected(context));

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncUnaryCallContinuation<TRequest, TResponse> continuation) => continuation(request, Inspected(context));

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        TRequest request,
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncServerStreamingCallContinuation<TRequest, TResponse> continuation) =>
        continuation(request, Inspected(context));

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncClientStreamingCallContinuation<TRequest, TResponse> continuation) => continuation(Inspected(context));

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context,
        AsyncDuplexStreamingCallContinuation<TRequest, TResponse> continuation) => continuation(Inspected(context));

    private ClientInterceptorContext<TRequest, TResponse> Inspected<TRequest, TResponse>(
        in ClientInterceptorContext<TRequest, TResponse> context)
        where TRequest : class
        where TResponse : class
    {
        Method<TRequest, TResponse> method = WithCodec(context.Method);
        Metadata headers = context.Options.Headers is { Count: > 0 } some ? [.. some] : Metadata.Empty;
        var request = new MessageOrigin(method.FullName, headers, IsRequest: true, IsReceived: false);
        var inspected = new Method<TRequest, TResponse>(
            method.Type,
            method.ServiceName,
            method.Name,
            MessageInspection.Sending(
                method.RequestMarshaller,
                _observer,
                request,
                method.Type is MethodType.ClientStreaming or MethodType.DuplexStreaming,
                _settings.MaxSendMessageBytes),
            _isOneWay
                ? method.ResponseMarshaller
                : MessageInspection.Receiving(
                    method.ResponseMarshaller,
                    _observer,
                    request with { IsRequest = false, IsReceived = true },
                    method.Type is MethodType.ServerStreaming or MethodType.DuplexStreaming));
        return new ClientInterceptorContext<TRequest, TResponse>(inspected, context.Host, context.Options);
    }

    private Method<TRequest, TResponse> WithCodec<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class
    {
        if (_settings.Codec is not AppliedCodec { Codec: { } codec })
        {
            return method;
        }

        object known = _methods.TryGetValue(method, out object? found)
            ? found
            : _methods.GetOrAdd(method, new Method<TRequest, TResponse>(
                method.Type,
                method.ServiceName,
                method.Name,
                codec.Replace(method.RequestMarshaller),
                codec.Replace(method.ResponseMarshaller)));
        return (Method<TRequest, TResponse>)known;
    }
}

/// <summary>A codec whose marshallers the methods already have: the calls only name it.</summary>
internal sealed class AppliedCodec(MarshallerProvider codec) : MarshallerProvider
{
    public MarshallerProvider Codec => codec;

    public override string Name => codec.Name;

    public override Marshaller<T> TryReplace<T>(Marshaller<T> generated) => generated;
}
