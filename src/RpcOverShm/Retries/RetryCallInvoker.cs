using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>
/// The call invoker of a channel whose service config has retry policies. A method without a policy goes straight to
/// the inner invoker.
/// </summary>
/// <param name="invoker">The inner invoker.</param>
/// <param name="retries">The retry settings of the channel.</param>
/// <param name="limitBytes">The maximum size of a request in bytes; null for no limit.</param>
internal sealed class RetryCallInvoker(ShmCallInvoker invoker, RetrySettings retries, int? limitBytes) : CallInvoker
{
    private readonly ConditionalWeakTable<IMethod, object> _methods = [];

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Find(method) is null
            ? invoker.BlockingUnaryCall(method, host, options, request)
            : Block(method, host, options, request);

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Find(method) is { } retried
            ? RetryUnary(retried, method, host, options, request)
            : invoker.AsyncUnaryCall(method, host, options, request);

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Find(method) is { } retried
            ? RetryServerStream(retried, method, host, options, request)
            : invoker.AsyncServerStreamingCall(method, host, options, request);

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        Find(method) is { } retried
            ? RetryClientStream(retried, method, host, options)
            : invoker.AsyncClientStreamingCall(method, host, options);

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options) =>
        Find(method) is { } retried
            ? RetryDuplex(retried, method, host, options)
            : invoker.AsyncDuplexStreamingCall(method, host, options);

    // Separate methods: the closure of a lambda is allocated when its method begins, which would burden calls that are
    // not retried.
    private AsyncUnaryCall<TResponse> RetryUnary<TRequest, TResponse>(
        RetriedMethod<TResponse> retried,
        Method<TRequest, TResponse> method,
        string? host,
        CallOptions options,
        TRequest request)
        where TRequest : class
        where TResponse : class
    {
        SerializedMessage? message = Serialize(method, request, out RetryBuffer log, out CallOutcome? failure);
        RetriedCall<TResponse> call = Start(
            retried,
            options,
            log,
            (attempt, end) =>
            {
                SingleResponseCall<TResponse> made = invoker.StartUnary(retried.Raw, host, attempt, message!, end);
                return new Attempt<TResponse>(made, made.ResponseAsync, Responses: null, Requests: null);
            },
            failure);
        return new AsyncUnaryCall<TResponse>(
            call.ResponseAsync,
            RetriedAccess<TResponse>.GetHeaders,
            RetriedAccess<TResponse>.GetStatus,
            RetriedAccess<TResponse>.GetTrailers,
            RetriedAccess<TResponse>.Dispose,
            call);
    }

    private AsyncServerStreamingCall<TResponse> RetryServerStream<TRequest, TResponse>(
        RetriedMethod<TResponse> retried,
        Method<TRequest, TResponse> method,
        string? host,
        CallOptions options,
        TRequest request)
        where TRequest : class
        where TResponse : class
    {
        SerializedMessage? message = Serialize(method, request, out RetryBuffer log, out CallOutcome? failure);
        RetriedCall<TResponse> call = Start(
            retried,
            options,
            log,
            (attempt, end) =>
            {
                StreamResponseCall<TResponse> made = invoker.StartServerStream(
                    retried.Raw, host, attempt, message!, end);
                return new Attempt<TResponse>(made, Response: null, made.Responses, Requests: null);
            },
            failure);
        return new AsyncServerStreamingCall<TResponse>(
            new RetriedResponseReader<TResponse>(call),
            RetriedAccess<TResponse>.GetHeaders,
            RetriedAccess<TResponse>.GetStatus,
            RetriedAccess<TResponse>.GetTrailers,
            RetriedAccess<TResponse>.Dispose,
            call);
    }

    private AsyncClientStreamingCall<TRequest, TResponse> RetryClientStream<TRequest, TResponse>(
        RetriedMethod<TResponse> retried,
        Method<TRequest, TResponse> method,
        string? host,
        CallOptions options)
        where TRequest : class
        where TResponse : class
    {
        Marshaller<TRequest> marshaller = invoker.Bind(method).RequestMarshaller;
        RetriedCall<TResponse> call = Start<TResponse>(
            retried,
            options,
            new RetryBuffer(retries.Budget),
            (attempt, end) =>
            {
                SingleResponseCall<TResponse> made = invoker.StartClientStream(
                    retried.Raw, host, attempt, end, out RequestStreamWriter<SerializedMessage> requests);
                return new Attempt<TResponse>(made, made.ResponseAsync, Responses: null, requests);
            },
            failure: null);
        return new AsyncClientStreamingCall<TRequest, TResponse>(
            Writer(call, marshaller, options),
            call.ResponseAsync,
            RetriedAccess<TResponse>.GetHeaders,
            RetriedAccess<TResponse>.GetStatus,
            RetriedAccess<TResponse>.GetTrailers,
            RetriedAccess<TResponse>.Dispose,
            call);
    }

    private AsyncDuplexStreamingCall<TRequest, TResponse> RetryDuplex<TRequest, TResponse>(
        RetriedMethod<TResponse> retried,
        Method<TRequest, TResponse> method,
        string? host,
        CallOptions options)
        where TRequest : class
        where TResponse : class
    {
        Marshaller<TRequest> marshaller = invoker.Bind(method).RequestMarshaller;
        RetriedCall<TResponse> call = Start<TResponse>(
            retried,
            options,
            new RetryBuffer(retries.Budget),
            (attempt, end) =>
            {
                StreamResponseCall<TResponse> made = invoker.StartDuplex(
                    retried.Raw, host, attempt, end, out RequestStreamWriter<SerializedMessage> requests);
                return new Attempt<TResponse>(made, Response: null, made.Responses, requests);
            },
            failure: null);
        return new AsyncDuplexStreamingCall<TRequest, TResponse>(
            Writer(call, marshaller, options),
            new RetriedResponseReader<TResponse>(call),
            RetriedAccess<TResponse>.GetHeaders,
            RetriedAccess<TResponse>.GetStatus,
            RetriedAccess<TResponse>.GetTrailers,
            RetriedAccess<TResponse>.Dispose,
            call);
    }

    private TResponse Block<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
        where TRequest : class
        where TResponse : class =>
        CredentialedCalls.Block(() => AsyncUnaryCall(method, host, options, request));

    private RetriedCall<TResponse> Start<TResponse>(
        RetriedMethod<TResponse> method,
        in CallOptions options,
        RetryBuffer log,
        AttemptFactory<TResponse> begin,
        CallOutcome? failure)
        where TResponse : class =>
        new(retries, method.Policy!, options, log, begin, failure);

    private RetriedRequestWriter<TRequest, TResponse> Writer<TRequest, TResponse>(
        RetriedCall<TResponse> call, Marshaller<TRequest> marshaller, in CallOptions options)
        where TRequest : class
        where TResponse : class =>
        new(call, marshaller, limitBytes) { WriteOptions = options.WriteOptions };

    /// <summary>Serialises the request for all attempts. Returns null, and a failure, if it can't be sent.</summary>
    private SerializedMessage? Serialize<TRequest, TResponse>(
        Method<TRequest, TResponse> method, TRequest request, out RetryBuffer log, out CallOutcome? failure)
        where TRequest : class
        where TResponse : class
    {
        log = new RetryBuffer(retries.Budget);
        failure = null;
        Marshaller<TRequest> marshaller = invoker.Bind(method).RequestMarshaller;
        try
        {
            var message = SerializedMessage.Of(marshaller, request, limitBytes);
            log.Keep(message);
            return message;
        }
        catch (Exception exception)
        {
            failure = CallOutcome.Local(StatusMapping.FromRequestFailure(exception));
            return null;
        }
    }

    /// <summary>Returns the method with its retry policy; null if it has none.</summary>
    private RetriedMethod<TResponse>? Find<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class
    {
        object found = _methods.TryGetValue(method, out object? known)
            ? known
            : Make(method);
        return (RetriedMethod<TResponse>)found is { Policy: not null } retried ? retried : null;
    }

    private object Make<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class =>
        _methods.GetValue(method, _ => RetriedMethod<TResponse>.Of(method, retries.Find(method)));
}
