using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>The inputs of a call's head that the call object does not hold.</summary>
/// <param name="FullName">The full name of the method, in UTF-8.</param>
/// <param name="Host">The authority that the caller has set; null for none.</param>
/// <param name="Headers">The request's metadata at the time of the call; null for none.</param>
/// <param name="IsWaitForReady">Whether the call waits until there is a server.</param>
/// <param name="Encoding">The encoding of the requests; null for none.</param>
/// <param name="MayCompress">Whether the single request may be compressed with the encoding.</param>
internal readonly record struct RequestHeadInputs(
    byte[] FullName, string? Host, Metadata? Headers, bool IsWaitForReady, string? Encoding, bool MayCompress)
{
    public static RequestHeadInputs Of(byte[] fullName, string? host, in CallOptions options)
    {
        // A copy: the head may be encoded later, or again for a retry, after the caller has changed its metadata.
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
/// The inputs of a call with one request, kept while the call may be started again. For a call with default options
/// the request itself is the snapshot, which saves this object.
/// </summary>
internal sealed record RetrySnapshot(object Request, RequestHeadInputs Target)
{
    /// <summary>Returns the snapshot to keep of a call.</summary>
    public static object Of(object request, in RequestHeadInputs target) =>
        target is { Host: null, Headers: null, IsWaitForReady: false, Encoding: null }
            ? request
            : new RetrySnapshot(request, target);

    /// <summary>Returns the inputs from the snapshot that was kept of a call.</summary>
    public static RetrySnapshot From(object kept, byte[] methodName) =>
        kept as RetrySnapshot ?? new RetrySnapshot(kept, RequestHeadInputs.Of(methodName, null, default));
}
