using System.Text;
using Grpc.Core;
using RpcOverShm.Systems;

namespace RpcOverShm.Servers;

/// <summary>A call as its method sees it. The getters work even after the call has ended.</summary>
internal sealed class ShmServerCallContext(ServerCall call) : ServerCallContext
{
    private Metadata? _responseTrailers;
    private CallItems? _userState;
    private AuthContext? _authContext;

    /// <summary>
    /// The trailers that the method set; null if it never read <see cref="ServerCallContext.ResponseTrailers"/>.
    /// </summary>
    public Metadata? TrailersIfSet => _responseTrailers;

    /// <summary>Whether the last request that was read had been compressed. For tests.</summary>
    internal bool IsLastRequestCompressed => call.IsLastRequestCompressed;

    /// <summary>
    /// Returns the call of a context; null for one of another transport. A context that wraps this one passes on its
    /// user state.
    /// </summary>
    public static ServerCall? CallOf(ServerCallContext context) =>
        context is ShmServerCallContext own ? own.Call : (context.UserState as CallItems)?.Call;

    private ServerCall Call => call;

    protected override IDictionary<object, object> UserStateCore => _userState ??= new CallItems(call);

    protected override string MethodCore => call.MethodName;

    protected override string HostCore => call.Host;

    protected override string PeerCore => call.Owner.PeerName;

    protected override DateTime DeadlineCore => call.Deadline;

    protected override Metadata RequestHeadersCore => call.RequestHeaders;

    protected override CancellationToken CancellationTokenCore => call.CancellationToken;

    protected override Metadata ResponseTrailersCore => _responseTrailers ??= [];

    protected override Status StatusCore { get; set; } = Status.DefaultSuccess;

    protected override WriteOptions? WriteOptionsCore { get; set; }

    protected override AuthContext AuthContextCore => _authContext ??= MakeAuthContext(call.Owner.Connection.Peer);

    protected override ContextPropagationToken CreatePropagationTokenCore(ContextPropagationOptions? options) =>
        throw new NotImplementedException(
            "Context propagation is not supported; pass the deadline and the token on yourself.");

    protected override Task WriteResponseHeadersAsyncCore(Metadata responseHeaders)
    {
        ArgumentNullException.ThrowIfNull(responseHeaders);
        call.SendHeaders(responseHeaders);
        return Task.CompletedTask;
    }

    /// <summary>Returns the caller's ids, as the kernel reports them; the user id is the peer identity.</summary>
    private static AuthContext MakeAuthContext(PeerIdentity peer)
    {
        var properties = new Dictionary<string, List<AuthProperty>>
        {
            [PeerIdentity.ProcessIdName] = [Property(PeerIdentity.ProcessIdName, $"{peer.ProcessId}")],
            [PeerIdentity.UserIdName] = [Property(PeerIdentity.UserIdName, $"{peer.User}")],
            [PeerIdentity.GroupIdName] = [Property(PeerIdentity.GroupIdName, $"{peer.Group}")],
        };
        return new AuthContext(PeerIdentity.UserIdName, properties);

        static AuthProperty Property(string name, string value) =>
            AuthProperty.Create(name, Encoding.ASCII.GetBytes(value));
    }

    private sealed class CallItems(ServerCall call) : Dictionary<object, object>
    {
        public ServerCall Call => call;
    }
}
