using System.Runtime.ExceptionServices;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm.Servers;

/// <summary>The handler of a method with its types. Holds the marshallers of each codec.</summary>
internal abstract class TypedMethodHandler<TRequest, TResponse> : MethodHandler
    where TRequest : class
    where TResponse : class
{
    private readonly Marshallers _generated;
    private readonly Dictionary<string, Marshallers> _byCodec = new(StringComparer.Ordinal);

    protected TypedMethodHandler(Method<TRequest, TResponse> method, IReadOnlyList<MarshallerProvider> codecs)
        : base(method, PayloadAccessHint.Of<TRequest>())
    {
        _generated = new Marshallers(method.RequestMarshaller, method.ResponseMarshaller);
        foreach (MarshallerProvider codec in codecs)
        {
            if (codec.TryReplace(method.RequestMarshaller) is { } request
                && codec.TryReplace(method.ResponseMarshaller) is { } response)
            {
                _byCodec.Add(codec.Name, new Marshallers(request, response));
            }
        }
    }

    public override IEnumerable<string> CodecNames => _byCodec.Keys.Prepend("proto");

    public override bool Offers(string? codec) => codec is null || _byCodec.ContainsKey(codec);

    public override ParsedMessage ParseInPlace(ServerCall call, ReadOnlySpan<byte> message)
    {
        try
        {
            TRequest request = FrameDeserializationContext.DeserializeInPlace(RequestMarshaller(call), message);
            return new ParsedMessage(request, Failure: null);
        }
        catch (Exception exception)
        {
            return new ParsedMessage(Value: null, ExceptionDispatchInfo.Capture(exception));
        }
    }

    /// <summary>Returns the single request of a call, which is complete before the method begins.</summary>
    protected TRequest ReadRequest(ServerCall call)
    {
        if (call.Parsed is { } parsed)
        {
            parsed.Failure?.Throw();
            return (TRequest)parsed.Value!;
        }

        ReceivedMessage bytes = call.TakeRequest();
        return FrameDeserializationContext.Deserialize(RequestMarshaller(call), ref bytes);
    }

    protected Marshaller<TRequest> RequestMarshaller(ServerCall call) =>
        call.RequestEncoding is not null ? DecodingMarshaller(call) : Of(call).Request;

    protected Marshaller<TResponse> ResponseMarshaller(ServerCall call) => Of(call).Response;

    /// <summary>Returns the task of a method; throws if the method returned null.</summary>
    protected static T NotNull<T>(T? task)
        where T : Task =>
        task ?? throw new InvalidOperationException("The method returned null in place of a task.");

    private Marshaller<TRequest> DecodingMarshaller(ServerCall call) => MessageEncoding.Reading(
        Of(call).Request,
        call.Settings.MaxReceiveMessageBytes,
        call.RequestEncoding == MessageEncoding.Gzip,
        isCompressed => call.IsLastRequestCompressed = isCompressed);

    private Marshallers Of(ServerCall call) => call.Codec is null ? _generated : _byCodec[call.Codec];

    private sealed record Marshallers(Marshaller<TRequest> Request, Marshaller<TResponse> Response);
}
