using System.IO.Compression;
using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <summary>
/// A method as called through one channel: its name as bytes, and its marshallers with the codec of the channel.
/// Created once per method object and kept as long as that object, because an interceptor may create a method object
/// for each call.
/// </summary>
internal sealed class ClientMethod<TRequest, TResponse> : ResponseMethod<TResponse>
    where TRequest : class
    where TResponse : class
{
    private readonly Method<TRequest, TResponse> _method;
    private readonly CallStarter _starter;
    private bool _hasNoEmptyResponse; // set by any thread

    public ClientMethod(Method<TRequest, TResponse> method, CallStarter starter, ClientSettings settings)
        : base(
            settings,
            method,
            MarshallerProvider.Choose(settings.Codec, settings.WithoutCodec, method.ResponseMarshaller),
            settings.Timeouts?.Find(method))
    {
        _method = method;
        _starter = starter;
        FullName = Encoding.UTF8.GetBytes(method.FullName);
        if (FullName.Length > ushort.MaxValue)
        {
            throw new ArgumentException(
                $"The method's name has {FullName.Length} bytes; at most {ushort.MaxValue} are allowed.");
        }

        RequestMarshaller = typeof(TRequest) == typeof(SerializedMessage)
            ? method.RequestMarshaller
            : MarshallerProvider.Choose(settings.Codec, settings.WithoutCodec, method.RequestMarshaller);
    }

    public byte[] FullName { get; }

    public Marshaller<TRequest> RequestMarshaller { get; }

    /// <summary>
    /// Whether the last request was large enough to be sent while it is serialised. This predicts the next request, so
    /// that small ones skip the preparation. Any thread may use it.
    /// </summary>
    private bool WasLastRequestLarge { get; set; }

    /// <summary>Whether this was created for the given method object.</summary>
    public bool Is(Method<TRequest, TResponse> method) => ReferenceEquals(_method, method);

    /// <summary>Starts an awaited call with one request. A deferred call may be published with later calls.</summary>
    /// <returns>Completes when the call is on its way or has ended.</returns>
    public Task<Connection?> StartAsync(
        ClientCall call, in RequestHeadInputs inputs, TRequest request, bool isDeferred = false)
    {
        Task<Connection?> started = CallStarter.NoConnection;
        if (!call.IsOneWay)
        {
            call.KeepSnapshot(RetrySnapshot.Of(request, inputs));
        }

        RequestPartSender? sender =
            WasLastRequestLarge && !call.IsOneWay ? RequestPartSender.Rent(_starter, call, inputs) : null;
        if (TrySerialize(call, inputs, request, sender) is { } context)
        {
            using (context)
            {
                if (sender?.Connection is { } startedOn)
                {
                    startedOn.Sender.SendRequest(call, context.Bytes);
                    call.MarkHandedOver();
                }
                else
                {
                    started = _starter.StartAsync(call, inputs, context.Bytes, isDeferred);
                }
            }
        }

        sender?.Return();
        return started;
    }

    public override void Start(ClientCall call, object snapshot)
    {
        RetrySnapshot from = RetrySnapshot.From(snapshot, FullName);
        _ = StartAsync(call, from.Inputs, (TRequest)from.Request);
    }

    /// <summary>
    /// Returns the marshaller for the requests of a call. It also inspects the requests, unless they were inspected
    /// when a retried call serialised them.
    /// </summary>
    public Marshaller<TRequest> RequestMarshallerOf(CallInspection? inspection, bool isStream) =>
        inspection is null || typeof(TRequest) == typeof(SerializedMessage)
            ? RequestMarshaller
            : inspection.Sending(RequestMarshaller, isStream, Settings.MaxSendMessageBytes);

    /// <summary>Makes a blocking call that somebody observes.</summary>
    public TResponse RunObserved(
        string? host, in CallOptions options, TRequest request, CallInspection? inspection) =>
        Observe(options, (observed, observation) =>
        {
            TResponse response = Run(host, observed, request, inspection);
            observation?.End(StatusCode.OK);
            return response;
        });

    /// <summary>Makes a blocking call: a given one-way call, or one that waits for its response.</summary>
    public TResponse Run(
        string? host,
        in CallOptions options,
        TRequest request,
        CallInspection? inspection,
        SingleResponseCall<TResponse>? oneWay = null)
    {
        var inputs = RequestHeadInputs.Of(FullName, host, options);
        SingleResponseCall<TResponse> call = oneWay ?? SingleResponseCall<TResponse>.ForThisThread(this);
        if (inspection is not null)
        {
            call.Inspection = inspection;
        }

        if (call.TryArm(options, Timeout))
        {
            try
            {
                Run(call, inputs, request);
            }
            catch
            {
                call.CancelBlocking();
                throw;
            }
        }

        return call.TakeResponse();
    }

    /// <summary>Starts a blocking call, whose latch is this thread's, and returns when it is done.</summary>
    private void Run(ClientCall call, in RequestHeadInputs inputs, TRequest request)
    {
        do
        {
            RequestPartSender? sender =
                WasLastRequestLarge && !call.IsOneWay ? RequestPartSender.Rent(_starter, call, inputs) : null;
            if (TrySerialize(call, inputs, request, sender) is { } context)
            {
                using (context)
                {
                    _starter.Run(call, inputs, sender?.Connection, context.Bytes);
                }
            }

            sender?.Return();
        }
        while (call.TryResetForRetry());
    }

    public override TResponse? CreateEmptyResponse()
    {
        if (_hasNoEmptyResponse)
        {
            return null;
        }

        try
        {
            var empty = new ReceivedMessage(firstBytes: 0);
            return FrameDeserializationContext.Deserialize(_method.ResponseMarshaller, ref empty);
        }
        catch (Exception)
        {
            _hasNoEmptyResponse = true;
            return null;
        }
    }

    /// <summary>Serialises a request. If that fails, ends the call and returns null.</summary>
    private FrameSerializationContext? TrySerialize(
        ClientCall call, in RequestHeadInputs inputs, TRequest request, IMessagePartSink? parts)
    {
        try
        {
            Marshaller<TRequest> own = RequestMarshallerOf(call.Inspection, isStream: false);
            var context = inputs.Encoding is null
                ? FrameSerializationContext.Serialize(own, request, Settings.MaxSendMessageBytes, parts, mayRefer: true)
                : FrameSerializationContext.Serialize(WithEncoding(own, inputs), request, limitBytes: null, parts);
            RecordSize(context.MayGoInParts);
            return context;
        }
        catch (Exception exception)
        {
            call.FinishUnsent(StatusMapping.FromRequestFailure(exception, Settings.Side));
            return null;
        }
    }

    private Marshaller<TRequest> WithEncoding(Marshaller<TRequest> own, in RequestHeadInputs inputs) =>
        MessageEncoding.Writing(own, inputs.MayCompress, CompressionLevel.Fastest, Settings.MaxSendMessageBytes);

    private void RecordSize(bool isLarge)
    {
        // Compared first: an unconditional write would invalidate a cache line that all cores share.
        if (WasLastRequestLarge != isLarge)
        {
            WasLastRequestLarge = isLarge;
        }
    }
}
