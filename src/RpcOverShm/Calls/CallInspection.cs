using Grpc.Core;

namespace RpcOverShm.Calls;

/// <summary>
/// The inspection of an outgoing call's messages, over all attempts of a retried one. One message of a direction is
/// shown at a time.
/// </summary>
internal sealed class CallInspection(MessageObserver observer, string method, Metadata? headers)
{
    // A copy, because the caller may change its metadata.
    private readonly MessageOrigin _request = new(
        method, headers is { Count: > 0 } some ? [.. some] : Metadata.Empty, IsRequest: true, IsReceived: false);

    private object? _receiving; // the marshaller of all responses, which counts them

    /// <summary>Returns a marshaller for the one request, or the one stream of requests, of the call.</summary>
    public Marshaller<T> Sending<T>(Marshaller<T> inner, bool isStream, int? limitBytes) =>
        MessageInspection.Sending(inner, observer, _request, isStream, limitBytes);

    /// <summary>Returns the marshaller for the responses of the call.</summary>
    public Marshaller<T> Receiving<T>(Marshaller<T> inner) => (Marshaller<T>)(_receiving ??=
        MessageInspection.Receiving(inner, observer, _request with { IsRequest = false, IsReceived = true }));
}
