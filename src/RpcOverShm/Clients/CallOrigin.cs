namespace RpcOverShm.Clients;

/// <summary>
/// What a call with one request was made from, for as long as it may be started anew. For the many calls that have
/// nothing but a request, that is all that is kept.
/// </summary>
internal sealed record CallOrigin(object Request, CallTarget Target)
{
    /// <summary>What is kept of a call.</summary>
    public static object Of(object request, in CallTarget target) =>
        target is { Host: null, Headers: null, IsWaitForReady: false, Encoding: null }
            ? request
            : new CallOrigin(request, target);

    /// <summary>What was kept of a call.</summary>
    public static CallOrigin From(object kept, byte[] methodName) =>
        kept as CallOrigin ?? new CallOrigin(kept, CallTarget.Of(methodName, null, default));
}
