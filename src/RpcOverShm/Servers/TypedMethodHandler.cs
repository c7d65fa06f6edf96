using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>The handler of a method with its types and its shape. Holds the marshallers of each codec.</summary>
internal sealed class TypedMethodHandler<TRequest, TResponse> : MethodHandler
    where TRequest : class
    where TResponse : class
{
    private readonly Func<ServerCall, ShmServerCallContext, Task> _invoke;
    private readonly Marshallers? _generated; // null if only codecs serialise the messages
    private readonly Dictionary<string, Marshallers> _byCodec = new(StringComparer.Ordinal);
    private readonly MessageObserver? _observer; // null if nobody sees the messages
    private readonly MarshallerProvider? _withoutCodec; // null if no message has memory of its own
    private readonly bool _isResponseStream;

    /// <summary>Takes the user's code as a delegate of one of the four shapes.</summary>
    /// <exception cref="ArgumentException">The method has no marshallers, and no codec has any for it.</exception>
    public TypedMethodHandler(
        Method<TRequest, TResponse> method,
        IReadOnlyList<MarshallerProvider> codecs,
        Delegate handler,
        MessageObserver? observer = null,
        MarshallerProvider? withoutCodec = null)
        : base(method, PayloadAccessHint.Of<TRequest>())
    {
        _observer = observer;
        IsInspected = observer is not null;
        _isResponseStream = method.Type is MethodType.ServerStreaming or MethodType.DuplexStreaming;
        _invoke = handler switch
        {
            UnaryServerMethod<TRequest, TResponse> unary => (call, context) => InvokeAsync(unary, call, context),
            ClientStreamingServerMethod<TRequest, TResponse> client =>
                (call, context) => InvokeAsync(client, call, context),
            ServerStreamingServerMethod<TRequest, TResponse> server =>
                (call, context) => InvokeAsync(server, call, context),
            DuplexStreamingServerMethod<TRequest, TResponse> duplex =>
                (call, context) => InvokeAsync(duplex, call, context),
            _ => throw new ArgumentException(
                $"{handler.GetType()} is not one of the four handler types of gRPC methods.", nameof(handler)),
        };
        if (!AbsentMarshaller<TRequest>.Is(method.RequestMarshaller)
            && !AbsentMarshaller<TResponse>.Is(method.ResponseMarshaller))
        {
            _generated = new Marshallers(
                withoutCodec?.Replace(method.RequestMarshaller) ?? method.RequestMarshaller,
                withoutCodec?.Replace(method.ResponseMarshaller) ?? method.ResponseMarshaller);
            _withoutCodec = _generated.Response == method.ResponseMarshaller ? null : withoutCodec;
        }

        foreach (MarshallerProvider codec in codecs)
        {
            if (codec.TryReplace(method.RequestMarshaller) is { } request
                && codec.TryReplace(method.ResponseMarshaller) is { } response)
            {
                _byCodec.Add(codec.Name, new Marshallers(request, response));
            }
        }

        if (_generated is null && _byCodec.Count == 0)
        {
            throw new ArgumentException(
                $"The method '{method.FullName}' was created with ShmMethod, and none of the codecs has a form for "
                + $"{typeof(TRequest)} and {typeof(TResponse)}. Add one to ShmServerOptions.Codecs (for services that "
                + "a channel offers, set ShmChannelOptions.Codec), or create the method with marshallers.");
        }
    }

    public override IEnumerable<string> CodecNames =>
        _generated is null ? _byCodec.Keys : _byCodec.Keys.Prepend(MarshallerProvider.Generated);

    public override bool Supports(string? codec) =>
        codec is null ? _generated is not null : _byCodec.ContainsKey(codec);

    public override Task InvokeAsync(ServerCall call, ShmServerCallContext context) => _invoke(call, context);

    // No async state machine for the common case of a method that has completed when it returns.
    private Task InvokeAsync(
        UnaryServerMethod<TRequest, TResponse> unary, ServerCall call, ShmServerCallContext context)
    {
        Task<TResponse> running = MethodInvoker.ThrowIfNull(unary(ReadRequest(call), context));
        if (!running.IsCompletedSuccessfully || call.Owner.BufferBudget.IsSendQueueFull)
        {
            return EndLaterAsync(call, context, running);
        }

        EndWith(call, running.Result, context);
        return Task.CompletedTask;
    }

    private Task InvokeAsync(
        ClientStreamingServerMethod<TRequest, TResponse> client, ServerCall call, ShmServerCallContext context) =>
        EndLaterAsync(call, context, MethodInvoker.ThrowIfNull(client(CreateRequestReader(call), context)));

    private async Task InvokeAsync(
        ServerStreamingServerMethod<TRequest, TResponse> server, ServerCall call, ShmServerCallContext context)
    {
        TRequest request = ReadRequest(call);
        using var responses = new ResponseStreamWriter<TResponse>(call, context, GetResponseMarshaller(call));
        await MethodInvoker.ThrowIfNull(server(request, responses, context)).ConfigureAwait(false);
        await responses.CompleteAsync().ConfigureAwait(false);
    }

    private async Task InvokeAsync(
        DuplexStreamingServerMethod<TRequest, TResponse> duplex, ServerCall call, ShmServerCallContext context)
    {
        RequestStreamReader<TRequest> requests = CreateRequestReader(call);
        using var responses = new ResponseStreamWriter<TResponse>(call, context, GetResponseMarshaller(call));
        await MethodInvoker.ThrowIfNull(duplex(requests, responses, context)).ConfigureAwait(false);
        await responses.CompleteAsync().ConfigureAwait(false);
    }

    private async Task EndLaterAsync(ServerCall call, ShmServerCallContext context, Task<TResponse> running)
    {
        TResponse response = await running.ConfigureAwait(false);
        ServerConnection owner = call.Owner;
        if (call.IsOneWay || !owner.BufferBudget.IsSendQueueFull)
        {
            EndWith(call, response, context);
            return;
        }

        owner.LeaveServerGate(call);
        await owner.WaitToSendResponseAsync(call.CancellationToken).ConfigureAwait(false);
        try
        {
            EndWith(call, response, context);
        }
        finally
        {
            owner.OnResponseQueued();
        }
    }

    private void EndWith(ServerCall call, TResponse response, ShmServerCallContext context)
    {
        try
        {
            call.EndWith(GetResponseMarshaller(call), response, context);
        }
        finally
        {
            _withoutCodec?.Release(response); // it was serialised, or nobody gets it
        }
    }

    private RequestStreamReader<TRequest> CreateRequestReader(ServerCall call) => new(call, GetRequestMarshaller(call));

    /// <summary>Returns the single request of a call, which is complete before the method begins.</summary>
    private TRequest ReadRequest(ServerCall call)
    {
        ReceivedMessage bytes = call.TakeRequest();
        return FrameDeserializationContext.Deserialize(GetRequestMarshaller(call), ref bytes);
    }

    // An inspected call has its own marshallers, because they hold its metadata and count its messages.
    private Marshaller<TRequest> GetRequestMarshaller(ServerCall call)
    {
        Marshaller<TRequest> own = ChooseMarshallers(call).Request;
        if (_observer is not null)
        {
            own = MessageInspection.Receiving(own, _observer, CreateOrigin(call, isRequest: true));
        }

        return call.RequestMark == MessageMark.None ? own : WithDecoding(call, own);
    }

    // Apart, so that a call that is not encoded makes no closure.
    private static Marshaller<TRequest> WithDecoding(ServerCall call, Marshaller<TRequest> own) =>
        MessageEncoding.Reading(
            own,
            call.Settings.MaxReceiveMessageBytes,
            call.Settings.Side,
            call.RequestMark == MessageMark.Gzip,
            isCompressed => call.IsLastRequestCompressed = isCompressed);

    private Marshaller<TResponse> GetResponseMarshaller(ServerCall call)
    {
        Marshaller<TResponse> own = ChooseMarshallers(call).Response;
        return _observer is null
            ? own
            : MessageInspection.Sending(
                own,
                _observer,
                CreateOrigin(call, isRequest: false),
                _isResponseStream,
                call.Settings.MaxSendMessageBytes);
    }

    private Marshallers ChooseMarshallers(ServerCall call) => call.Codec is null ? _generated! : _byCodec[call.Codec];

    private MessageOrigin CreateOrigin(ServerCall call, bool isRequest) =>
        new(FullName, call.RequestHeaders, isRequest, IsReceived: isRequest);

    private sealed record Marshallers(Marshaller<TRequest> Request, Marshaller<TResponse> Response);
}
