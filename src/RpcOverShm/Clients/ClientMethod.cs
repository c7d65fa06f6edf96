using System.IO.Compression;
using System.Runtime.CompilerServices;
using System.Text;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Clients;

/// <summary>
/// A method as one channel calls it: its name as bytes and its marshallers with the channel's codec. Made once for each
/// method object and kept as long as that lives; interceptors may make method objects by the call.
/// </summary>
internal sealed class ClientMethod<TRequest, TResponse> : AnsweredMethod<TResponse>
    where TRequest : class
    where TResponse : class
{
    private readonly Method<TRequest, TResponse> _method;
    private readonly CallStarter _starter;

    private ClientMethod(Method<TRequest, TResponse> method, CallStarter starter, ClientSettings settings)
        : base(
            settings,
            method.FullName,
            settings.Codec?.Replace(method.ResponseMarshaller) ?? method.ResponseMarshaller)
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
            : settings.Codec?.Replace(method.RequestMarshaller) ?? method.RequestMarshaller;
    }

    public byte[] FullName { get; }

    public Marshaller<TRequest> RequestMarshaller { get; }

    /// <summary>
    /// True when the last request was large enough to be sent while it is serialised: a guess about the next one, so
    /// that small ones need not prepare for it. Any thread may use it.
    /// </summary>
    private bool IsLarge { get; set; }

    /// <summary>The method of a channel.</summary>
    /// <param name="last">The one that the channel has called last, which most often is called next.</param>
    /// <param name="cache">All that it has called.</param>
    /// <param name="method">As the generated client knows it.</param>
    /// <param name="starter">The channel's.</param>
    /// <param name="settings">The channel's.</param>
    public static ClientMethod<TRequest, TResponse> Get(
        ref object? last,
        ConditionalWeakTable<IMethod, object> cache,
        Method<TRequest, TResponse> method,
        CallStarter starter,
        ClientSettings settings)
    {
        if (Volatile.Read(ref last) is ClientMethod<TRequest, TResponse> one && ReferenceEquals(one._method, method))
        {
            return one;
        }

        ClientMethod<TRequest, TResponse> found = cache.TryGetValue(method, out object? known)
            ? (ClientMethod<TRequest, TResponse>)known
            : Make(cache, method, starter, settings);
        Volatile.Write(ref last, found);
        return found;
    }

    /// <summary>Starts a call with one request, for which nobody blocks.</summary>
    /// <param name="call">The call.</param>
    /// <param name="target">What its head is made of.</param>
    /// <param name="request">The request.</param>
    /// <param name="isDeferred">Whether others follow, with which it may be published.</param>
    /// <returns>Completes when the call is on its way or has ended.</returns>
    public Task<Connection?> Start(
        ClientCall call, in RequestHeadInputs target, TRequest request, bool isDeferred = false)
    {
        Task<Connection?> started = CallStarter.None;
        call.KeepSnapshot(RetrySnapshot.Of(request, target));
        RequestParts? parts = IsLarge ? RequestParts.For(_starter, call, target) : null;
        if (TrySerialize(call, target, request, parts) is { } context)
        {
            using (context)
            {
                if (parts?.Connection is { } begunOn)
                {
                    begunOn.SendRequest(call, context.Bytes);
                    call.MarkHandedOver();
                }
                else
                {
                    started = _starter.Start(call, target, context.Bytes, isDeferred);
                }
            }
        }

        parts?.Release();
        return started;
    }

    public override void Start(ClientCall call, object snapshot)
    {
        RetrySnapshot from = RetrySnapshot.From(snapshot, FullName);
        _ = Start(call, from.Target, (TRequest)from.Request);
    }

    /// <summary>Starts a call and returns when it is done. The call has a waiter: that of this thread.</summary>
    public void Run(ClientCall call, in RequestHeadInputs target, TRequest request)
    {
        do
        {
            RequestParts? parts = IsLarge ? RequestParts.For(_starter, call, target) : null;
            if (TrySerialize(call, target, request, parts) is { } context)
            {
                using (context)
                {
                    _starter.Run(call, target, parts?.Connection, context.Bytes);
                }
            }

            parts?.Release();
        }
        while (call.TryResetForRetry());
    }

    /// <summary>Serialises a request; null when the call has ended with that.</summary>
    /// <param name="call">The call.</param>
    /// <param name="target">Whose encoding it has.</param>
    /// <param name="request">What to serialise.</param>
    /// <param name="parts">Where parts of it may go meanwhile; null for nowhere.</param>
    public FrameSerializationContext? TrySerialize(
        ClientCall call, in RequestHeadInputs target, TRequest request, IMessageChunkSink? parts)
    {
        try
        {
            var context = target.Encoding is null
                ? FrameSerializationContext.Serialize(RequestMarshaller, request, Settings.MaxSendMessageBytes, parts)
                : FrameSerializationContext.Serialize(EncodedMarshaller(target), request, limitBytes: null, parts);
            RecordSize(context.MayGoInParts);
            return context;
        }
        catch (Exception exception)
        {
            call.FinishUnsent(StatusMapping.FromRequestFailure(exception));
            return null;
        }
    }

    private Marshaller<TRequest> EncodedMarshaller(in RequestHeadInputs target) => MessageEncoding.Writing(
        RequestMarshaller, target.MayCompress, CompressionLevel.Fastest, Settings.MaxSendMessageBytes);

    private void RecordSize(bool isLarge)
    {
        // Compared first: all cores share the line.
        if (IsLarge != isLarge)
        {
            IsLarge = isLarge;
        }
    }

    private static ClientMethod<TRequest, TResponse> Make(
        ConditionalWeakTable<IMethod, object> cache,
        Method<TRequest, TResponse> method,
        CallStarter starter,
        ClientSettings settings) =>
        (ClientMethod<TRequest, TResponse>)cache.GetValue(
            method, _ => new ClientMethod<TRequest, TResponse>(method, starter, settings));
}

/// <summary>
/// What a call needs of its method when the answer comes: one object for all calls of a channel's method.
/// </summary>
/// <param name="settings">The channel's.</param>
/// <param name="name">The full name, for logging.</param>
/// <param name="responses">Reads the responses.</param>
internal abstract class AnsweredMethod<TResponse>(ClientSettings settings, string name, Marshaller<TResponse> responses)
    where TResponse : class
{
    public ClientSettings Settings => settings;

    public string Name => name;

    public Marshaller<TResponse> ResponseMarshaller => responses;

    /// <summary>Starts a call once more, from what was kept of it.</summary>
    public abstract void Start(ClientCall call, object snapshot);
}
