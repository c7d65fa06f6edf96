using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// Finds the call credentials that are composed into channel credentials. Transport credentials are ignored: the kernel
/// identifies the peer, and only a peer that the server admits receives the shared memory.
/// </summary>
internal sealed class ChannelAuthInterceptors : ChannelCredentialsConfiguratorBase
{
    private readonly List<AsyncAuthInterceptor> _found = [];

    /// <summary>Returns the interceptors of the credentials in order; an empty list for null.</summary>
    public static IReadOnlyList<AsyncAuthInterceptor> Of(ChannelCredentials? credentials)
    {
        var interceptors = new ChannelAuthInterceptors();
        credentials?.InternalPopulateConfiguration(interceptors, interceptors);
        return interceptors._found;
    }

    public override void SetInsecureCredentials(object state)
    {
    }

    public override void SetSslCredentials(
        object state,
        string? rootCertificates,
        KeyCertificatePair? keyCertificatePair,
        VerifyPeerCallback? verifyPeerCallback)
    {
    }

    public override void SetCompositeCredentials(
        object state, ChannelCredentials channelCredentials, CallCredentials callCredentials)
    {
        channelCredentials.InternalPopulateConfiguration(this, state);
        _found.AddRange(AuthInterceptors.Of(callCredentials));
    }
}

/// <summary>Flattens call credentials into the interceptors that add metadata to a call, in order.</summary>
internal sealed class AuthInterceptors : CallCredentialsConfiguratorBase
{
    private readonly List<AsyncAuthInterceptor> _found = [];

    public static IReadOnlyList<AsyncAuthInterceptor> Of(CallCredentials credentials)
    {
        var interceptors = new AuthInterceptors();
        credentials.InternalPopulateConfiguration(interceptors, state: null);
        return interceptors._found;
    }

    public override void SetCompositeCredentials(object? state, IReadOnlyList<CallCredentials> credentials)
    {
        foreach (CallCredentials one in credentials)
        {
            one.InternalPopulateConfiguration(this, state);
        }
    }

    public override void SetAsyncAuthInterceptorCredentials(object? state, AsyncAuthInterceptor interceptor) =>
        _found.Add(interceptor);
}
