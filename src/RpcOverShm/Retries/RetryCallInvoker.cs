using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>
/// The call invoker of a channel whose service config has retry policies. A method without a policy goes straight to
/// the inner invoker.
/// </summary>
internal sealed class RetryCallInvoker(ShmCallInvoker invoker, RetrySettings retries) : CallInvoker
{
    private static readonly object s_withoutPolicy = new();

    private readonly ConditionalWeakTable<IMethod, object> _methods = [];

    public override TResponse BlockingUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request) =>
        Find(method) is null
            ? invoker.BlockingUnaryCall(method, host, options, request)
            : ShmCallInvoker.BlockOnAsyncCall(this, method, host, options, request);

    public override AsyncUnaryCall<TResponse> AsyncUnaryCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        if (Find(method) is not { } retried)
        {
            return invoker.AsyncUnaryCall(method, host, options, request);
        }

        RetriedCall<TResponse> call = Start(retried, isStream: false, invoker.Bind(method), host, options, request);
        return CallPresentation.Unary(call, call.ResponseAsync);
    }

    public override AsyncServerStreamingCall<TResponse> AsyncServerStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options, TRequest request)
    {
        if (Find(method) is not { } retried)
        {
            return invoker.AsyncServerStreamingCall(method, host, options, request);
        }

        RetriedCall<TResponse> call = Start(retried, isStream: true, invoker.Bind(method), host, options, request);
        return CallPresentation.ServerStream(call, new RetriedResponseReader<TResponse>(call));
    }

    public override AsyncClientStreamingCall<TRequest, TResponse> AsyncClientStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        if (Find(method) is not { } retried)
        {
            return invoker.AsyncClientStreamingCall(method, host, options);
        }

        RetriedRequestWriter<TRequest, TResponse> requests = StartStream(
            retried, isStream: false, invoker.Bind(method), host, options, out RetriedCall<TResponse> call);
        return CallPresentation.ClientStream(call, requests, call.ResponseAsync);
    }

    public override AsyncDuplexStreamingCall<TRequest, TResponse> AsyncDuplexStreamingCall<TRequest, TResponse>(
        Method<TRequest, TResponse> method, string? host, CallOptions options)
    {
        if (Find(method) is not { } retried)
        {
            return invoker.AsyncDuplexStreamingCall(method, host, options);
        }

        RetriedRequestWriter<TRequest, TResponse> requests = StartStream(
            retried, isStream: true, invoker.Bind(method), host, options, out RetriedCall<TResponse> call);
        return CallPresentation.Duplex(call, requests, new RetriedResponseReader<TResponse>(call));
    }

    /// <summary>Starts a call with one request. If that can't be serialised, returns a call that has failed.</summary>
    private RetriedCall<TResponse> Start<TRequest, TResponse>(
        RetriedMethod<TResponse> retried,
        bool isStream,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        in CallOptions options,
        TRequest request)
        where TRequest : class
        where TResponse : class
    {
        CallInspection? inspection = method.Inspect(options);
        return method.Observe(options, (observed, observation) =>
        {
            var requests = new RetryBuffer(retries.Budget);
            SerializedMessage? message = null;
            CallOutcome? failure = null;
            try
            {
                message = SerializedMessage.Of(
                    method.RequestMarshallerOf(inspection, isStream: false),
                    request,
                    method.Settings.MaxSendMessageBytes);
                requests.Keep(message);
            }
            catch (Exception exception)
            {
                failure = CallOutcome.Local(StatusMapping.FromRequestFailure(exception, method.Settings.Side));
            }

            return new RetriedCall<TResponse>(
                retries,
                retried.Policy,
                retried.Raw,
                observed,
                requests,
                (attempt, end) => Begin(retried.Raw, isStream, host, attempt, message, end, inspection),
                failure,
                observation);
        });
    }

    private RetriedRequestWriter<TRequest, TResponse> StartStream<TRequest, TResponse>(
        RetriedMethod<TResponse> retried,
        bool isStream,
        ClientMethod<TRequest, TResponse> method,
        string? host,
        CallOptions options,
        out RetriedCall<TResponse> call)
        where TRequest : class
        where TResponse : class
    {
        CallInspection? inspection = method.Inspect(options);
        call = method.Observe(options, (observed, observation) => new RetriedCall<TResponse>(
            retries,
            retried.Policy,
            retried.Raw,
            observed,
            new RetryBuffer(retries.Budget),
            (attempt, end) => Begin(retried.Raw, isStream, host, attempt, message: null, end, inspection),
            end: null,
            observation));
        return new RetriedRequestWriter<TRequest, TResponse>(
            call, method, method.RequestMarshallerOf(inspection, isStream: true))
        {
            WriteOptions = CarriedHandles.PlainOf(options.WriteOptions),
        };
    }

    /// <summary>Makes an attempt: starts it or, if an outcome is given, ends it at once.</summary>
    private Attempt<TResponse> Begin<TResponse>(
        ClientMethod<SerializedMessage, TResponse> method,
        bool isStream,
        string? host,
        in CallOptions options,
        SerializedMessage? message,
        CallOutcome? end,
        CallInspection? inspection)
        where TResponse : class
    {
        var single = isStream ? null : new SingleResponseCall<TResponse>(method, latch: null);
        var stream = isStream ? new StreamResponseCall<TResponse>(method) : null;
        ClientCall call = (ClientCall?)single ?? stream!;
        call.Inspection = inspection;
        RequestStreamWriter<SerializedMessage>? requests = null;
        if (end is not null)
        {
            call.Finish(end, isCancel: false);
        }
        else if (message is null)
        {
            requests = invoker.StartStream(call, method, host, options, isObservable: false);
        }
        else
        {
            _ = invoker.StartAsync(call, method, host, options, message, isObservable: false);
        }

        return new Attempt<TResponse>(call, single?.ResponseAsync, stream?.Responses, requests);
    }

    /// <summary>Returns the method with its retry policy; null if it has none.</summary>
    private RetriedMethod<TResponse>? Find<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class
    {
        object found = _methods.TryGetValue(method, out object? known)
            ? known
            : _methods.GetOrAdd(method, Make(method));
        return found as RetriedMethod<TResponse>;
    }

    private object Make<TRequest, TResponse>(Method<TRequest, TResponse> method)
        where TRequest : class
        where TResponse : class
    {
        if (retries.Find(method) is not { } policy)
        {
            return s_withoutPolicy;
        }

        var raw = new Method<SerializedMessage, TResponse>(
            method.Type, method.ServiceName, method.Name, SerializedMessage.Marshaller, method.ResponseMarshaller);
        return new RetriedMethod<TResponse>(policy, invoker.Bind(raw));
    }
}

/// <summary>A retry policy, and its method in the form that takes requests already serialised.</summary>
internal sealed record RetriedMethod<TResponse>(RetryPolicy Policy, ClientMethod<SerializedMessage, TResponse> Raw)
    where TResponse : class;
