using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>What a call's head is made of besides what the call itself knows.</summary>
/// <param name="FullName">The method, UTF-8.</param>
/// <param name="Host">The authority that the caller has set; null for none.</param>
/// <param name="Headers">The request's metadata, as it was when the call was made; null for none.</param>
/// <param name="IsWaitForReady">Whether the call waits until there is a server.</param>
/// <param name="Encoding">The encoding of the requests; null where none is compressed.</param>
/// <param name="MayCompress">Whether the one request is compressed, where there is an encoding.</param>
internal readonly record struct RequestHeadInputs(
    byte[] FullName, string? Host, Metadata? Headers, bool IsWaitForReady, string? Encoding, bool MayCompress)
{
    public static RequestHeadInputs Of(byte[] fullName, string? host, in CallOptions options)
    {
        // A copy: the caller may change its own once the call is made, which may be encoded later, and again.
        Metadata? headers = options.Headers is { Count: > 0 } some ? [.. some] : null;
        string? wanted = headers is null ? null : MessageEncoding.Take(MessageEncoding.RequestedKey, ref headers);
        string? encoding = wanted == MessageEncoding.Identity ? null : wanted;
        return new RequestHeadInputs(
            fullName,
            host,
            headers,
            options.IsWaitForReady,
            encoding,
            encoding is not null && MessageEncoding.MayCompress(options.WriteOptions));
    }
}

/// <summary>
/// What a call with one request was made from, for as long as it may be started anew. For the many calls that have
/// nothing but a request, that is all that is kept.
/// </summary>
internal sealed record RetrySnapshot(object Request, RequestHeadInputs Target)
{
    /// <summary>What is kept of a call.</summary>
    public static object Of(object request, in RequestHeadInputs target) =>
        target is { Host: null, Headers: null, IsWaitForReady: false, Encoding: null }
            ? request
            : new RetrySnapshot(request, target);

    /// <summary>What was kept of a call.</summary>
    public static RetrySnapshot From(object kept, byte[] methodName) =>
        kept as RetrySnapshot ?? new RetrySnapshot(kept, RequestHeadInputs.Of(methodName, null, default));
}
