using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>The part of a method that does not depend on the request's type; a call needs only this part.</summary>
internal abstract class ResponseMethod<TResponse>(
    ClientSettings settings, IMethod method, Marshaller<TResponse> responses, CallTimeout? timeout = null)
    where TResponse : class
{
    public ClientSettings Settings => settings;

    public IMethod Method => method;

    public string Name { get; } = method.FullName;

    public Marshaller<TResponse> ResponseMarshaller => responses;

    /// <summary>The time limit of the method's calls by the channel's options; null for none.</summary>
    public CallTimeout? Timeout => timeout;

    /// <summary>Returns the inspection of a call with these options; null if nobody sees its messages.</summary>
    public CallInspection? Inspect(in CallOptions options) =>
        settings.Observer is { } observer ? new CallInspection(observer, Name, options.Headers) : null;

    /// <summary>
    /// Makes a call, and observes it if there are listeners of traces or metrics; see
    /// <see cref="CallObservation.OfClient"/>.
    /// </summary>
    public TCall Observe<TCall>(in CallOptions options, Func<CallOptions, CallObservation?, TCall> start) =>
        CallObservation.OfClient(Name, settings.Authority, options, start);

    /// <summary>Starts a call again from its snapshot.</summary>
    public abstract void Start(ClientCall call, object snapshot);

    /// <summary>
    /// Returns the response of a one-way call: the message that the marshaller of the method deserialises from zero
    /// bytes. For a generated message that is an empty message. Null if the marshaller throws.
    /// </summary>
    public abstract TResponse? CreateEmptyResponse();
}
